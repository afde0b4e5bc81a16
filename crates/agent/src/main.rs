//! The guest agent: the first process of a User Mode Linux guest. It reads its orders from the file `/orders`, sets up
//! the network, makes the traffic, reports to `/proc/forebay`, and halts the guest.

#[cfg(target_os = "linux")]
mod guest;

#[cfg(target_os = "linux")]
fn main() {
    guest::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
