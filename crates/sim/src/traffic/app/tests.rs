//! Applications: files with and without requests, handshakes, lost requests.

use super::super::draw::Draw;
use super::super::session::{End, FIN, FIN_ACK, SYN, SYN_ACK, THIRD};
use super::*;

const FILES: Files = Files {
    size: Draw::Constant(2500.0),
    think: Draw::Constant(2.0),
    count: Some(2),
    fresh: true,
    request: None,
    opening: Opening::Established,
};
const SECOND: Span = Span::from_millis(1000);

fn app(files: Files) -> App {
    let options = TcpOptions { initial_rto: Some(Span::from_millis(6000)), ..TcpOptions::default() };
    let mut app = App::new(&Work::Files(files), 1000, &options, Rng::stream(1, "app"));
    app.start(at(5));
    app
}

fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

/// The actions for the first file.
const OPEN: Action = Action::Control { end: End::Receiver, word: SYN | 1, length: 40 };
const OPENED: Action = Action::Control { end: End::Sender, word: SYN_ACK | 1, length: 40 };
const ASK: Action = Action::Control { end: End::Receiver, word: 1, length: 400 };
const SEND: Action = Action::Send { packets: 3, fresh: false };

const PAGES: Files = Files { request: Some(400), opening: Opening::Handshake, ..FILES };

#[test]
fn sender_without_requests_sends_file_after_file() {
    let mut app = app(FILES);
    assert_eq!(app.wake(at(4)), Action::Nothing, "before the start");
    assert_eq!(app.wake(at(5)), Action::Send { packets: 3, fresh: false }, "2500 bytes are three packets");
    assert_eq!((app.arrived(2, at(6)), app.wakes()), (None, None));
    assert_eq!(app.arrived(3, at(7)), Some(SECOND * 2));
    assert_eq!(app.arrived(3, at(7)), None, "reported once");
    assert_eq!(app.wakes(), None, "not acknowledged yet");
    app.acknowledged(3, at(8));
    assert_eq!((app.wakes(), app.wake(at(10))), (Some(at(10)), Action::Send { packets: 3, fresh: true }));
    assert_eq!(app.arrived(6, at(13)), Some(SECOND * 3));
    app.acknowledged(6, at(13));
    assert_eq!((app.wakes(), app.wake(at(99))), (None, Action::Nothing), "both files are done");
}

#[test]
fn lost_request_is_repeated_and_duplicate_ignored() {
    let mut app = app(Files { request: Some(400), fresh: false, count: None, ..FILES });
    assert_eq!(app.wake(at(5)), ASK);
    assert_eq!((app.wake(at(5)), app.wakes()), (Action::Nothing, Some(at(6))));
    assert_eq!((app.wake(at(6)), app.wakes()), (ASK, Some(at(8))), "doubled");
    assert_eq!(app.on_control(1, at(0)), Action::Send { packets: 3, fresh: false });
    assert_eq!(app.on_control(1, at(0)), Action::Nothing);
    app.acknowledged(3, at(9));
    assert_eq!(app.wakes(), None, "the receiver starts the next file");
    assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4), "since the first request");
    assert_eq!(
        (app.wakes(), app.wake(at(11))),
        (Some(at(11)), Action::Control { end: End::Receiver, word: 2, length: 400 })
    );
    assert_eq!(app.on_control(1, at(0)), Action::Nothing, "request of the file before");
    app.stop();
    assert_eq!(app.wakes(), None);
}

/// The file in flight at the stop still arrives.
#[test]
fn stopped_application_requests_no_more_files() {
    for request in [None, Some(400)] {
        let mut app = app(Files { request, fresh: false, count: None, ..FILES });
        app.wake(at(5));
        app.on_control(1, at(5));
        app.stop();
        assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4), "{request:?}");
        app.acknowledged(3, at(9));
        app.fetch(at(10), false);
        assert_eq!(app.wakes(), None, "{request:?}");
    }
}

/// The requesting end opens the connection. Both ends measure the round trip; the initial timeout is 6 s.
#[test]
fn request_follows_the_handshake() {
    let mut app = app(PAGES);
    assert_eq!((app.wake(at(5)), app.wakes()), (OPEN, Some(at(11))));
    assert_eq!(app.on_control(1, at(0)), Action::Nothing, "no request yet");
    assert_eq!((app.on_control(SYN | 1, at(5)), app.wakes()), (OPENED, Some(at(11))));
    // A round trip of 0.5 s gives a timeout of 1.5 s.
    let half = Span::from_millis(500);
    assert_eq!(app.on_control(SYN_ACK | 1, at(5) + half), ASK);
    assert_eq!(app.wakes(), Some(at(7)));
    assert_eq!(app.on_control(SYN_ACK | 1, at(5) + half), Action::Nothing, "duplicate");
    assert_eq!(app.on_control(SYN | 1, at(5) + half), Action::Nothing, "old SYN");
    assert_eq!((app.wake(at(7)), app.wakes()), (ASK, Some(at(10))), "doubled");
    assert_eq!((app.on_control(1, at(8)), app.wakes()), (SEND, None));
    let call = app.set_up().expect("result of the handshake");
    assert_eq!((call.retransmissions, call.rtt.smoothed()), (0, Span::from_millis(3000)), "from 5 s to 8 s");
    assert!(app.set_up().is_none(), "returned once");
    assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4), "since the first SYN");
    assert_eq!(app.wake(at(11)), Action::Control { end: End::Receiver, word: SYN | 2, length: 40 });
    assert_eq!(app.on_control(SYN_ACK | 1, at(12)), Action::Nothing, "answer of the connection before");
}

/// The SYN is lost, then the answer to the second one; both ends retransmit.
#[test]
fn handshake_recovers_from_losses() {
    let mut app = app(PAGES);
    assert_eq!(app.wake(at(5)), OPEN);
    assert_eq!((app.wake(at(11)), app.wakes()), (OPEN, Some(at(23))), "doubled");
    assert_eq!((app.on_control(SYN | 1, at(12)), app.wakes()), (OPENED, Some(at(18))));
    assert_eq!((app.wake(at(18)), app.wakes()), (OPENED, Some(at(23))));
    assert_eq!((app.wake(at(23)), app.wakes()), (OPEN, Some(at(30))));
    assert_eq!((app.on_control(SYN | 1, at(24)), app.wakes()), (OPENED, Some(at(30))), "the timer keeps running");
    // The round trip is unknown (Karn's algorithm): the timeout stays that of the SYN.
    assert_eq!(app.on_control(SYN_ACK | 1, at(25)), ASK);
    assert_eq!((app.on_control(1, at(26)), app.wakes()), (SEND, None));
    let call = app.set_up().unwrap();
    assert_eq!((call.retransmissions, call.syn_lost, call.rtt.smoothed()), (2, true, Span::ZERO));
    assert_eq!(call.rtt.timeout(), Span::from_millis(12_000), "doubled once by the answering end");
    assert_eq!(call.round_trip, Span::from_millis(2000), "since the last answer");
}

#[test]
fn request_after_lost_syn_keeps_backed_off_timeout() {
    let mut app = app(PAGES);
    assert_eq!((app.wake(at(5)), app.wake(at(11))), (OPEN, OPEN));
    assert_eq!(app.on_control(SYN | 1, at(12)), OPENED);
    assert_eq!(app.on_control(SYN_ACK | 1, at(13)), ASK);
    assert_eq!(app.wakes(), Some(at(18)), "the answer may be lost");
    assert_eq!(app.wake(at(18)), OPENED);
    assert_eq!(app.on_control(SYN_ACK | 1, at(19)), Action::Nothing, "the opening end already has it");
    assert_eq!((app.wake(at(25)), app.wakes()), (ASK, Some(at(30))), "12 s after the first request");
}

#[test]
fn sender_without_requests_opens_the_connection() {
    let mut app = app(Files { opening: Opening::Handshake, fresh: false, ..FILES });
    let (open, opened) = (
        Action::Control { end: End::Sender, word: SYN | 1, length: 40 },
        Action::Control { end: End::Receiver, word: SYN_ACK | 1, length: 40 },
    );
    assert_eq!((app.wake(at(5)), app.on_control(SYN | 1, at(6))), (open, opened));
    assert_eq!(app.on_control(SYN_ACK | 1, at(7)), SEND);
    assert_eq!(app.wakes(), Some(at(12)), "the answer's timer runs until data arrives");
    let call = app.set_up().unwrap();
    assert_eq!((call.retransmissions, call.rtt.smoothed()), (0, Span::from_millis(2000)));
    assert_eq!((app.arrived(1, at(8)), app.wakes()), (None, None));
    assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4));
    app.acknowledged(3, at(10));
    assert_eq!(app.wake(at(12)), SEND, "on the same connection");
    assert!(app.set_up().is_none());
}

/// ns-2's SYN: only the sender has a timer, and the last acknowledgement ends the file.
#[test]
fn syn_of_ns2_is_repeated_by_the_sender_only() {
    let mut app = app(Files { opening: Opening::Ns2, ..FILES });
    let (open, opened) = (
        Action::Control { end: End::Sender, word: SYN | 1, length: 40 },
        Action::Control { end: End::Receiver, word: SYN_ACK | 1, length: 40 },
    );
    assert_eq!((app.wake(at(5)), app.on_control(SYN | 1, at(6)), app.wakes()), (open, opened, Some(at(11))));
    assert_eq!((app.wake(at(11)), app.wakes()), (open, Some(at(23))), "the answer was lost");
    assert_eq!((app.on_control(SYN | 1, at(12)), app.wakes()), (opened, Some(at(23))), "no timer of the answer");
    assert_eq!((app.on_control(SYN_ACK | 1, at(13)), app.wakes()), (SEND, None));
    let call = app.set_up().unwrap();
    assert_eq!((call.retransmissions, call.counts_as_loss), (1, true));
    assert_eq!(call.rtt.timeout(), Span::from_millis(12_000), "backed off until a packet is measured");
    assert_eq!(app.arrived(3, at(15)), None);
    assert_eq!(app.acknowledged(3, at(16)), Some(SECOND * 11), "since the first SYN");
    assert_eq!((app.acknowledged(3, at(16)), app.wakes()), (None, Some(at(18))), "reported once");
}

/// In the Linux stack the timeout of the SYN stays 6 s at its first four expirations; that of the answer doubles at each.
#[test]
fn linux_doubles_timeout_at_fifth_expiration() {
    let initial_rto = Some(Span::from_millis(6000));
    let options = TcpOptions { stack: Some(Stack::Linux), initial_rto, ..TcpOptions::default() };
    let mut app = App::new(&Work::Files(PAGES), 1000, &options, Rng::from_state([1; 4]));
    app.start(at(5));
    assert_eq!((app.wake(at(5)), app.wakes()), (OPEN, Some(at(11))));
    for (now, next) in [(11, 17), (17, 23), (23, 29), (29, 35), (35, 47), (47, 71)] {
        assert_eq!((app.wake(at(now)), app.wakes()), (OPEN, Some(at(next))), "{now} s");
    }
    assert_eq!((app.on_control(SYN | 1, at(48)), app.wakes()), (OPENED, Some(at(54))));
    assert_eq!((app.wake(at(54)), app.wakes()), (OPENED, Some(at(66))));
}

/// In the Linux stack: the third packet of the handshake, and three packets that close the connection.
#[test]
fn linux_connection_has_all_its_packets() {
    let initial_rto = Some(Span::from_millis(6000));
    let options = TcpOptions { stack: Some(Stack::Linux), initial_rto, ..TcpOptions::default() };
    let control = |end, word| Action::Control { end, word, length: 40 };
    let from = |end| move |word| control(end, word);
    for (files, opener, other) in [
        (Files { opening: Opening::Handshake, ..FILES }, from(End::Sender), from(End::Receiver)),
        (PAGES, from(End::Receiver), from(End::Sender)),
    ] {
        let mut app = App::new(&Work::Files(files), 1000, &options, Rng::from_state([1; 4]));
        app.start(at(5));
        assert_eq!(app.wake(at(5)), opener(SYN | 1));
        assert_eq!(app.on_control(SYN | 1, at(6)), other(SYN_ACK | 1));
        assert_eq!((app.on_control(SYN_ACK | 1, at(7)), app.wakes()), (opener(THIRD | 1), Some(at(7))));
        assert_eq!(app.wake(at(7)), if files.request.is_some() { ASK } else { SEND });
        assert_eq!(app.on_control(THIRD | 1, at(8)), Action::Nothing);
        if files.request.is_some() {
            assert_eq!(app.on_control(1, at(8)), SEND);
        }
        assert!(app.set_up().is_some_and(|call| call.round_trip == Span::from_millis(2000)));
        assert_eq!(app.arrived(3, at(9)), Some(SECOND * 4));
        app.acknowledged(3, at(9));
        assert_eq!((app.wakes(), app.wake(at(9)), app.wakes()), (Some(at(9)), opener(FIN | 1), Some(at(11))));
        assert_eq!(app.wake(at(11)), opener(SYN | 2));
        assert_eq!(app.on_control(FIN | 1, at(12)), other(FIN_ACK | 1));
        let Action::Control { word, .. } = app.on_control(FIN_ACK | 1, at(13)) else { panic!("no acknowledgement") };
        assert_eq!(app.on_control(word, at(14)), Action::Nothing);
    }
}

#[test]
fn linux_end_of_data_is_acknowledged_at_once() {
    let ends_at_once = |files| app(files).ends_at_once();
    assert!(ends_at_once(FILES) && ends_at_once(PAGES), "a new connection for each file");
    let dialogue = Files { fresh: false, ..PAGES };
    assert!(!ends_at_once(dialogue) && app(dialogue).is_dialogue() && !app(PAGES).is_dialogue());
}

#[test]
fn stopped_application_opens_no_connection() {
    let mut app = app(PAGES);
    assert_eq!((app.wake(at(5)), app.on_control(SYN | 1, at(6))), (OPEN, OPENED));
    app.stop();
    assert_eq!(
        (app.wakes(), app.on_control(SYN_ACK | 1, at(7)), app.wake(at(99))),
        (None, Action::Nothing, Action::Nothing)
    );
}

#[test]
fn application_writes_each_packet_of_its_source() {
    let every = Span::from_millis(1000);
    let mut app =
        App::new(&Work::Written(Pattern::Constant { every }), 1000, &TcpOptions::default(), Rng::stream(1, "app"));
    app.start(at(0));
    let first = app.wakes().unwrap();
    assert_eq!(app.wake(first), Action::Send { packets: 1, fresh: false });
    assert_eq!(app.wakes(), Some(first + every));
}
