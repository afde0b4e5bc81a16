//! What talks to the kernel, and the only folder with unsafe code.
