//! The sender against the RFCs, as short conversations: what comes in, what goes out.

use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::sender::Sender;
use forebay_sim::tcp::{Recovery, TcpOptions};

/// A sender with its clock; every acknowledgement comes 10 ms after the one before.
struct Talk {
    sender: Sender,
    now: Instant,
}

impl Talk {
    fn new(options: TcpOptions) -> Self {
        Self { sender: Sender::new(options, Span::ZERO), now: Instant::ZERO }
    }

    /// What the sender sends now.
    fn sends(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.sender.poll(self.now)).map(|send| send.seq).collect()
    }

    /// An acknowledgement that expects `next`, and what it makes the sender send.
    fn ack(&mut self, next: u32) -> Vec<u32> {
        self.ack_with(next, false)
    }

    fn ack_with(&mut self, next: u32, ece: bool) -> Vec<u32> {
        self.now += Span::from_millis(10);
        self.sender.on_ack(self.now, next, ece);
        self.sends()
    }

    /// `count` duplicates of `next`, and what each makes the sender send.
    fn duplicates(&mut self, next: u32, count: usize) -> Vec<Vec<u32>> {
        (0..count).map(|_| self.ack(next)).collect()
    }

    /// The timer fires; what the sender sends then.
    fn timeout(&mut self) -> Vec<u32> {
        self.now = self.sender.deadline().expect("a timer is running");
        self.sender.on_timeout(self.now);
        self.sends()
    }

    /// A connection in congestion-free slow start with `window` packets outstanding from `window` on.
    fn grown_to(options: TcpOptions, window: u32) -> Self {
        let mut talk = Self::new(TcpOptions { initial_window: window, ..options });
        assert_eq!(talk.sends().len(), window as usize);
        talk
    }
}

const NEWRENO: TcpOptions = TcpOptions {
    recovery: Recovery::NewReno,
    initial_window: 2,
    window: u32::MAX,
    delayed_ack: false,
    limited_transmit: false,
    min_rto: Span::from_millis(200),
    tick: Span::from_millis(10),
    ecn: false,
};

#[test]
fn rfc5681_slow_start_sends_two_for_each_ack() {
    let mut talk = Talk::new(NEWRENO);
    assert_eq!(talk.sends(), [0, 1]);
    assert_eq!(talk.ack(1), [2, 3]);
    assert_eq!(talk.ack(2), [4, 5]);
    assert_eq!(talk.sender.cwnd(), 4.0);
}

#[test]
fn receiver_window_caps_what_is_outstanding() {
    let mut talk = Talk::new(TcpOptions { window: 3, ..NEWRENO });
    assert_eq!(talk.sends(), [0, 1]);
    assert_eq!(talk.ack(1), [2, 3]);
    assert_eq!(talk.ack(2), [4]);
}

#[test]
fn rfc5681_third_duplicate_retransmits_and_halves() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    assert_eq!(talk.duplicates(0, 3), [vec![], vec![], vec![0]]);
    // Window 5 + 3 while 10 are outstanding: each further duplicate inflates by one.
    assert_eq!(talk.duplicates(0, 4), [vec![], vec![], vec![10], vec![11]]);
    assert_eq!(talk.sender.cwnd(), 5.0);
}

#[test]
fn rfc5681_full_acknowledgement_ends_recovery_at_the_threshold() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    talk.duplicates(0, 3);
    let sent = talk.ack(10);
    // Deflated to 5, grown by 1/5 for the acknowledgement itself.
    assert_eq!(sent, [10, 11, 12, 13, 14]);
    assert!((talk.sender.cwnd() - 5.2).abs() < 1e-12);
}

#[test]
fn rfc6582_partial_acknowledgement_retransmits_the_next_hole_and_stays() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    talk.duplicates(0, 7);
    // 0 and 4 were lost: the retransmission of 0 brings an acknowledgement of 0..3.
    let sent = talk.ack(4);
    assert_eq!(sent[0], 4, "the next hole at once");
    assert_eq!(talk.sender.counts().fast_retransmits, 1, "no second reduction in one window");
    // Everything outstanding when the loss was seen is acknowledged: recovery is over.
    talk.ack(12);
    assert!(talk.sender.cwnd() >= 5.0 && talk.sender.cwnd() < 6.0);
}

#[test]
fn rfc6582_only_the_first_partial_acknowledgement_restarts_the_timer() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    talk.duplicates(0, 3);
    talk.ack(2);
    let deadline = talk.sender.deadline();
    talk.ack(4);
    assert_eq!(talk.sender.deadline(), deadline);
}

#[test]
fn reno_leaves_recovery_with_the_first_new_acknowledgement() {
    let mut talk = Talk::grown_to(TcpOptions { recovery: Recovery::Reno, ..NEWRENO }, 10);
    talk.duplicates(0, 3);
    talk.ack(4);
    assert!((talk.sender.cwnd() - 5.2).abs() < 1e-12, "grown by 1/5, no longer inflated");
    // A second hole in the window that was lost waits for the timer, one in the next is retransmitted.
    talk.duplicates(4, 5);
    assert_eq!(talk.sender.counts().fast_retransmits, 1);
    talk.timeout();
    (5..14).for_each(|ack| drop(talk.ack(ack)));
    assert!(talk.duplicates(13, 3)[2].contains(&13));
    assert_eq!(talk.sender.counts().fast_retransmits, 2);
}

#[test]
fn rfc6582_no_fast_retransmit_before_recover_is_passed_after_a_timeout() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    assert_eq!(talk.timeout(), [0]);
    talk.ack(2);
    talk.duplicates(2, 3);
    assert_eq!(talk.sender.counts().fast_retransmits, 0);
}

#[test]
fn rfc3042_limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    let mut talk = Talk::grown_to(TcpOptions { limited_transmit: true, ..NEWRENO }, 4);
    assert_eq!(talk.duplicates(0, 3), [vec![4], vec![5], vec![0]]);
}

#[test]
fn rfc5681_timeout_goes_back_to_one_packet_and_slow_start() {
    let mut talk = Talk::grown_to(NEWRENO, 10);
    assert_eq!(talk.timeout(), [0]);
    assert_eq!(talk.sender.cwnd(), 1.0);
    assert_eq!(talk.ack(1), [1, 2]);
    assert_eq!(talk.ack(2), [3, 4]);
    // The threshold is 5: beyond it a packet a round.
    talk.ack(3);
    talk.ack(4);
    talk.ack(5);
    assert!((talk.sender.cwnd() - 5.2).abs() < 1e-12);
}

#[test]
fn rfc6298_backoff_doubles_and_only_new_data_ends_it() {
    let mut talk = Talk::grown_to(NEWRENO, 4);
    talk.ack(1);
    let spans: Vec<u64> = (0..4)
        .map(|_| {
            let before = talk.now;
            talk.timeout();
            talk.now.since(before).nanos() / 1_000_000
        })
        .collect();
    // The acknowledgement measured 10 ms: the minimum of 200 ms applies, then doubles. The first timer
    // was restarted by that acknowledgement.
    assert_eq!(spans, [200, 400, 800, 1600]);
    // Karn: acknowledgements of what was sent twice are not measured, the backoff stays.
    talk.ack(2);
    assert_eq!(talk.sender.rtt().timeout(), Span::from_millis(3200));
}

#[test]
fn no_timer_runs_while_nothing_is_outstanding() {
    let mut talk = Talk::new(TcpOptions { window: 2, ..NEWRENO });
    talk.sends();
    talk.sender.on_ack(talk.now, 2, false);
    assert_eq!(talk.sender.deadline(), None);
}

#[test]
fn rfc3168_one_reduction_in_a_window_and_cwr_on_the_next_new_packet() {
    let mut talk = Talk::grown_to(TcpOptions { ecn: true, ..NEWRENO }, 10);
    talk.ack_with(1, true);
    assert_eq!((talk.sender.cwnd(), talk.sender.counts().ecn_cuts), (5.0, 1));
    talk.ack_with(2, true);
    assert_eq!(talk.sender.counts().ecn_cuts, 1, "same window");
    talk.now += Span::from_millis(10);
    talk.sender.on_ack(talk.now, 8, false);
    let first = talk.sender.poll(talk.now).unwrap();
    let second = talk.sender.poll(talk.now).unwrap();
    assert_eq!((first.seq, first.cwr, second.cwr), (10, true, false));
    talk.ack_with(12, true);
    assert_eq!(talk.sender.counts().ecn_cuts, 2, "next window");
}

#[test]
fn rfc3168_a_loss_in_a_marked_window_is_repaired_without_a_second_reduction() {
    let mut talk = Talk::grown_to(TcpOptions { ecn: true, ..NEWRENO }, 10);
    talk.ack_with(1, true);
    let window = talk.sender.cwnd();
    talk.duplicates(1, 3);
    assert_eq!((talk.sender.counts().fast_retransmits, talk.sender.cwnd()), (1, window));
}

#[test]
fn stray_acknowledgements_are_ignored() {
    let mut talk = Talk::grown_to(NEWRENO, 4);
    talk.ack(2);
    let before = (talk.sender.acknowledged(), talk.sender.cwnd());
    assert_eq!(talk.ack(1), [0; 0], "old");
    assert_eq!(talk.ack(99), [0; 0], "of what was never sent");
    assert_eq!((talk.sender.acknowledged(), talk.sender.cwnd()), before);
}

#[test]
fn a_stopped_sender_is_silent() {
    let mut talk = Talk::grown_to(NEWRENO, 4);
    talk.sender.stop();
    assert_eq!((talk.ack(2), talk.sender.deadline()), (vec![], None));
}
