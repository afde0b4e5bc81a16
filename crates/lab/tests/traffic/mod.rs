//! Traffic and links, from the scenario file to the results of a run.

mod access_networks;
mod adaptive;
mod cake;
mod ecn;
mod goodput;
mod lone;
mod long_runs;
mod ns2_ecn;
mod pages;
mod rtt;
mod sctp;
mod stacks;
mod traces;
mod video;
mod voip;
