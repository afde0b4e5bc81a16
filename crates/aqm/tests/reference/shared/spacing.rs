//! ns-2's `modify_p` of RED: p grows with the number of packets since the last signal.

/// `count`: packets since the last signal. `wait`: no signal before 1/p packets.
pub(crate) fn spaced(p: f64, count: f64, wait: bool) -> f64 {
    let expected = count * p;
    if wait {
        if expected < 1.0 {
            0.0
        } else if expected < 2.0 {
            p / (2.0 - expected)
        } else {
            1.0
        }
    } else if expected < 1.0 {
        p / (1.0 - expected)
    } else {
        1.0
    }
}
