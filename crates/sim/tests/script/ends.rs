//! The sender or receiver that a script tests, and its clock.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text::show_span;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::TcpOptions;
use forebay_sim::tcp::accecn::Accurate;
use forebay_sim::tcp::accecn::Echoes;
use forebay_sim::tcp::receiver::{Ack, Data, Receiver};
use forebay_sim::tcp::reports::Block;
use forebay_sim::tcp::sender::{Send, Sender};

use super::path::Path;
use super::words::{number, options, range, show_range, span};

/// State of a script.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) now: Instant,
    pub(crate) sender: Option<Sender>,
    receiver: Option<Receiver>,
    options: TcpOptions,
    pub(crate) path: Option<Path>,
    /// Packets sent and not yet expected by the script.
    sent: Vec<Send>,
    /// Packets sent with PSH since the last line that listed them.
    pushed: Vec<u32>,
}

impl Stage {
    pub(crate) const fn is_receiver(&self) -> bool {
        self.receiver.is_some()
    }

    pub(crate) fn sender(&mut self) -> Result<&mut Sender, String> {
        self.sender.as_mut().ok_or_else(|| "no sender yet".to_string())
    }

    /// Runs `sender`, `receiver` or `path`; `false`: the line is none of them.
    pub(crate) fn set_up(&mut self, verb: &str, words: &[&str]) -> Result<bool, String> {
        match verb {
            "sender" => {
                *self = Self { options: options(words)?, ..Self::default() };
                self.sender = Some(Sender::new(self.options, Span::ZERO, Rng::stream(1, "script")));
            }
            "receiver" => *self = Self { receiver: Some(Receiver::new(&options(words)?)), ..Self::default() },
            "path" if self.path.is_some() => self.path.iter_mut().try_for_each(|path| path.change(words))?,
            "path" => self.path = Some(Path::new(&self.options, words)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn poll(&mut self) {
        let now = self.now;
        let sender = self.sender.iter_mut();
        let before = self.sent.len();
        self.sent.extend(sender.flat_map(|sender| std::iter::from_fn(|| sender.poll(now))));
        self.pushed.extend(self.sent[before..].iter().filter(|send| send.push).map(|send| send.seq));
    }

    /// Runs an event at the sender; `false`: the line is not an event.
    pub(crate) fn send(&mut self, pause: Span, verb: &str, words: &[&str]) -> Result<bool, String> {
        self.sender()?;
        match verb {
            "ack" => self.ack(pause, words)?,
            "acks" => {
                let run = range(words.first().ok_or("which?")?)?;
                for next in run.start..run.end {
                    self.ack(pause, &[&next.to_string()])?;
                }
            }
            "timer" => {
                let deadline = self.sender()?.deadline().ok_or("no timer runs")?;
                self.reach(deadline, words)?;
                self.sender()?.on_deadline(deadline);
            }
            "wait" => self.now += pause,
            "pushed" => {
                let wanted = words.iter().map(|word| number(word)).collect::<Result<Vec<u32>, _>>()?;
                let pushed = std::mem::take(&mut self.pushed);
                if pushed != wanted {
                    return Err(format!("{pushed:?} had PSH, not {wanted:?}"));
                }
            }
            "offer" => {
                self.now += pause;
                let (now, packets) = (self.now, number(words.first().ok_or("how many?")?)?);
                self.sender()?.offer(now, packets);
            }
            "announce" => {
                let packets = number(words.first().ok_or("how many?")?)?;
                self.sender()?.announce(packets);
            }
            "stop" => self.sender()?.stop(),
            "run" => {
                let (Some(path), Some(sender)) = (&mut self.path, &mut self.sender) else {
                    return Err("no path yet".to_string());
                };
                self.now = path.run(sender, self.now, words)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        // With a path, packets are sent by the next `run`.
        if self.path.is_none() {
            self.poll();
        }
        Ok(true)
    }

    /// Runs `ack NEXT [ece] [ace=FIELD] [ce=TOTAL] [stamp=BITS] [delay=TIME] [sack RANGE...] [xCOUNT]`.
    fn ack(&mut self, pause: Span, words: &[&str]) -> Result<(), String> {
        let (&next, words) = words.split_first().ok_or("of what?")?;
        let mut ack = Ack { next: number(next)?, ..Ack::default() };
        let (mut blocks, mut count) = (Vec::new(), 1);
        for &word in words {
            match word {
                "ece" => ack.ece = true,
                "sack" => {}
                _ if word.starts_with("ace=") => {
                    let feedback = Accurate::of_field(number(&word[4..])? as u8);
                    ack.echoes = Echoes::new(Some(feedback), ack.echoes.stamp());
                }
                _ if word.starts_with("ce=") => {
                    let feedback = Accurate::new(number(&word[3..])?, true);
                    ack.echoes = Echoes::new(Some(feedback), ack.echoes.stamp());
                }
                _ if word.starts_with("stamp=") => {
                    ack.echoes = Echoes::new(ack.echoes.accurate(), number(&word[6..])? as u8);
                }
                _ if word.starts_with("delay=") => ack.echoes = Echoes::of_delay(span(&word[6..])?),
                _ if word.starts_with('x') => count = number(&word[1..])?,
                _ => blocks.push(range(word)?),
            }
        }
        for _ in 0..count {
            self.now += pause;
            let now = self.now;
            self.sender()?.on_ack(now, ack, &blocks);
            self.poll();
        }
        Ok(())
    }

    /// Advances the clock to `deadline`, which must be `after TIME` if the script says so.
    fn reach(&mut self, deadline: Instant, words: &[&str]) -> Result<(), String> {
        let after = deadline.since(self.now);
        if let ["after", wanted] = words
            && after != span(wanted)?
        {
            return Err(format!("the timer fires after {}, not {wanted}", show_span(after)));
        }
        self.now = deadline;
        Ok(())
    }

    /// Checks the codepoint of the connection's ECN-capable packets.
    fn expect_codepoint(&self, wanted: Ecn) -> Result<(), String> {
        let codepoint = self.options.codepoint();
        if codepoint == wanted { Ok(()) } else { Err(format!("the data has {codepoint:?}, not {wanted:?}")) }
    }

    /// Checks that the packets sent since the last line are `RANGE[/cwr][/not-ect][/ect0][/ect1]...`, `nothing` or `*`.
    pub(crate) fn expect_sends(&mut self, wanted: &str) -> Result<(), String> {
        self.sender()?;
        self.poll();
        let mut sent = std::mem::take(&mut self.sent);
        // Of a connection without ECN, no packet has a codepoint.
        sent.iter_mut().for_each(|send| send.ect |= !self.options.ecn_capable());
        let sent = show_sends(&sent);
        let mut expected = Vec::new();
        for word in wanted.split_whitespace().filter(|&word| word != "nothing" && word != "*") {
            let mut parts = word.split('/');
            let run = range(parts.next().unwrap_or(word))?;
            let (mut cwr, mut ect) = (false, true);
            for part in parts {
                match part {
                    "cwr" => cwr = true,
                    "not-ect" => ect = false,
                    "ect0" => self.expect_codepoint(Ecn::Ect0)?,
                    "ect1" => self.expect_codepoint(Ecn::Ect1)?,
                    _ => return Err(format!("no such mark of a packet: {part}")),
                }
            }
            expected.extend((run.start..run.end).map(|seq| Send { seq, cwr, ect, stamp: 0, push: false }));
        }
        let expected = show_sends(&expected);
        if wanted == "*" || sent == expected { Ok(()) } else { Err(format!("sent {sent}, not {expected}")) }
    }

    /// Runs `data SEQ [ce] [not-ect] [cwr] [psh] [stamp=BITS] [delay=TIME]` or `timer` at the receiver, and checks its acknowledgement.
    pub(crate) fn receive(&mut self, pause: Span, verb: &str, words: &[&str], wanted: &str) -> Result<(), String> {
        self.now += pause;
        let mut answers = Vec::new();
        match verb {
            "data" => {
                let seq = number(words.first().ok_or("which packet?")?)?;
                let ecn = match () {
                    () if words.contains(&"ce") => Ecn::Ce,
                    () if words.contains(&"not-ect") => Ecn::NotEct,
                    () => Ecn::Ect0,
                };
                let stamp = words.iter().find_map(|word| word.strip_prefix("stamp="));
                let stamp = stamp.map_or(Ok(0), number)? as u8;
                let delay = words.iter().find_map(|word| word.strip_prefix("delay="));
                let delay = delay.map_or(Ok(Span::ZERO), span)?;
                let Some(receiver) = &mut self.receiver else { return Err("no receiver yet".to_string()) };
                answers.extend(receiver.before_data(ecn).map(|ack| show_ack(receiver, ack)));
                let ack = receiver.on_data(
                    self.now,
                    Data { seq, ecn, cwr: words.contains(&"cwr"), stamp, push: words.contains(&"psh"), delay },
                );
                answers.extend(ack.map(|ack| show_ack(receiver, ack)));
            }
            "timer" => {
                let deadline = self.receiver.as_ref().and_then(Receiver::deadline).ok_or("no timer runs")?;
                self.reach(deadline, words)?;
                let receiver = self.receiver.as_mut().ok_or("no receiver yet")?;
                let ack = receiver.ack();
                answers.push(show_ack(receiver, ack));
            }
            _ => return Err(format!("no such event at a receiver: {verb}")),
        }
        let answer = if answers.is_empty() { "nothing".to_string() } else { answers.join(", ") };
        let wanted = if wanted.is_empty() { "nothing" } else { wanted };
        if answer == wanted { Ok(()) } else { Err(format!("answered {answer}, not {wanted}")) }
    }
}

fn show_ack(receiver: &Receiver, ack: Ack) -> String {
    let blocks = receiver.blocks(ack);
    let sack = if blocks.is_empty() { "" } else { " sack" };
    let blocks: String = blocks.iter().map(|&block| format!(" {}", show_range(block))).collect();
    let accurate = ack.echoes.accurate().map_or(String::new(), |feedback| match feedback.total() {
        Some(total) => format!(" ce={total}"),
        None => format!(" ace={}", feedback.ace()),
    });
    let stamp = match (ack.echoes.delay(), ack.echoes.stamp()) {
        (Some(delay), _) => format!(" delay={}", show_span(delay)),
        (None, 0) => String::new(),
        (None, stamp) => format!(" stamp={stamp}"),
    };
    format!("ack {}{}{accurate}{stamp}{sack}{blocks}", ack.next, if ack.ece { " ece" } else { "" })
}

fn show_sends(sends: &[Send]) -> String {
    let mut runs: Vec<(Block, bool, bool)> = Vec::new();
    for send in sends {
        match runs.last_mut() {
            Some((run, cwr, ect)) if run.end == send.seq && !*cwr && !send.cwr && *ect == send.ect => run.end += 1,
            _ => runs.push((Block { start: send.seq, end: send.seq + 1 }, send.cwr, send.ect)),
        }
    }
    let word = |&(run, cwr, ect): &(Block, bool, bool)| {
        format!("{}{}{}", show_range(run), if cwr { "/cwr" } else { "" }, if ect { "" } else { "/not-ect" })
    };
    let words: Vec<String> = runs.iter().map(word).collect();
    if words.is_empty() { "nothing".to_string() } else { words.join(" ") }
}
