//! Every discipline against a literal transcription of its published listing: the same random traces,
//! the same uniforms, and then the same verdict on every packet, the same order, the same state.

mod reference;
