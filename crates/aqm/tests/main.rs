//! Integration tests of disciplines: published listings, RFCs, golden traces and the conformance suite.

mod conformance;
mod coupled;
mod golden;
mod markers;
mod reference;
mod retuned;
mod rfc8033;
mod rfc8289;
mod rfc8290;
mod rfc9331;
mod rfc9332;
mod tc;
