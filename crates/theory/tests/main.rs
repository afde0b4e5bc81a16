//! Models against simulation by hand and against other people's tools.

mod mmpp;
mod oracle;
