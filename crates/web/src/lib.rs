//! The laboratory as a WebAssembly module. It has no imports from WebAssembly's environment except a function for
//! messages of panics; requests and answers are JSON in its memory (`forebay_lab::studio`).

mod sys;
