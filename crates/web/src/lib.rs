//! The laboratory as a WebAssembly module. Requests and answers are JSON in its memory (`forebay_lab::studio`). Its only
//! import is a function that receives the message of a panic.

mod sys;
