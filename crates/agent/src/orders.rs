//! The orders of a run. All times are in nanoseconds since the start of the run, unless said otherwise.

use crate::bytes::{Reader, Writer};

/// The namespace of the senders and of all links.
pub const CLIENTS: u64 = 0;
/// The namespace of the receivers.
pub const SERVERS: u64 = 1;
/// The descriptor by which netlink messages can name the namespace of the receivers.
pub const SERVERS_DESCRIPTOR: u32 = 50;

/// A netlink message (family NETLINK_ROUTE) with its header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The namespace in which it is sent: [`CLIENTS`] or [`SERVERS`].
    pub namespace: u64,
    /// What it does, for messages about errors.
    pub purpose: String,
    /// The message.
    pub bytes: Vec<u8>,
}

/// A part of an application's work: a pause, then data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Pause after the end of the previous piece, ns.
    pub pause: u64,
    /// Payload bytes.
    pub bytes: u64,
}

/// What a flow sends. The client end sends data, the server end receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A TCP connection with unlimited data.
    Bulk,
    /// Files over TCP, at times that the client end chooses.
    Push {
        /// The files.
        files: Vec<Piece>,
        /// A new connection for each file?
        fresh: bool,
        /// Does the completion time of a file include the handshake?
        handshake: bool,
    },
    /// Files over TCP that the server end requests.
    Pull {
        /// The files.
        files: Vec<Piece>,
        /// Payload bytes of a request.
        request: u64,
        /// A new connection for each file?
        fresh: bool,
        /// Does the completion time of a file include the handshake?
        handshake: bool,
    },
    /// Writes into a TCP connection: times since the start of the run, and payload bytes.
    Written(Vec<(u64, u64)>),
    /// Datagrams: times since the start of the run, and payload bytes.
    Datagrams(Vec<(u64, u64)>),
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Name, for messages about errors.
    pub name: String,
    /// Port of the end that listens.
    pub port: u16,
    /// IPv4 address of the client end.
    pub client: u32,
    /// IPv4 address of the server end.
    pub server: u32,
    /// Congestion control.
    pub control: String,
    /// Maximum segment size (`TCP_MAXSEG`), bytes.
    pub segment: u32,
    /// Receive window, bytes; 0: the kernel's own.
    pub window: u32,
    /// Whether to pace packets, whatever the congestion control.
    pub paced: bool,
    /// Second byte of the IP header: the DSCP, and for datagrams the ECN codepoint.
    pub traffic_class: u8,
    /// Device from which datagrams leave.
    pub device: String,
    /// Start.
    pub start: u64,
    /// Stop.
    pub stop: u64,
    /// What it sends.
    pub work: Work,
}

/// A program of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Earliest time of its start. It starts later if the programs before it in the list have not ended by then.
    pub at: u64,
    /// The namespace in which it runs.
    pub namespace: u64,
    /// The path of the program and its arguments.
    pub words: Vec<String>,
}

/// The orders of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Time on the monotonic clock of the guest at which the run starts, ns.
    pub zero: u64,
    /// End of the warm-up.
    pub warm: u64,
    /// End of the run.
    pub end: u64,
    /// Time between two records of the flows in `tracked`; 0: none.
    pub sample: u64,
    /// Indexes of the flows whose TCP state is recorded at every sampling time.
    pub tracked: Vec<u64>,
    /// Files to write before the messages: namespace, path, content.
    pub settings: Vec<(u64, String, String)>,
    /// Messages that set up the network.
    pub setup: Vec<Message>,
    /// Devices that get and pass on single packets, without offloads: namespace, name.
    pub plain: Vec<(u64, String)>,
    /// Messages during the run, in order of time.
    pub changes: Vec<(u64, Message)>,
    /// Qdiscs whose dropped packets are reported at the end of the warm-up and of the run: a number for each, and the
    /// request for its counters.
    pub counted: Vec<(u64, Message)>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Programs that run, one after the other. Their ends and outputs are reported: `program NUMBER STATUS TEXT`.
    pub programs: Vec<Program>,
}

fn write_message(to: &mut Writer, message: &Message) {
    to.number(message.namespace);
    to.bytes(message.purpose.as_bytes());
    to.bytes(&message.bytes);
}

fn read_message(from: &mut Reader<'_>) -> Message {
    Message { namespace: from.number(), purpose: from.text(), bytes: from.bytes() }
}

fn write_pieces(to: &mut Writer, files: &[Piece]) {
    to.list(files, |to, file| {
        to.number(file.pause);
        to.number(file.bytes);
    });
}

fn read_pieces(from: &mut Reader<'_>) -> Vec<Piece> {
    from.list(|from| Piece { pause: from.number(), bytes: from.number() })
}

fn write_pairs(to: &mut Writer, pairs: &[(u64, u64)]) {
    to.list(pairs, |to, pair| {
        to.number(pair.0);
        to.number(pair.1);
    });
}

fn read_pairs(from: &mut Reader<'_>) -> Vec<(u64, u64)> {
    from.list(|from| (from.number(), from.number()))
}

impl Work {
    fn write(&self, to: &mut Writer) {
        match self {
            Self::Bulk => to.number(0),
            Self::Push { files, fresh, handshake } => {
                to.number(1);
                write_pieces(to, files);
                to.number(u64::from(*fresh));
                to.number(u64::from(*handshake));
            }
            Self::Pull { files, request, fresh, handshake } => {
                to.number(2);
                write_pieces(to, files);
                to.number(*request);
                to.number(u64::from(*fresh));
                to.number(u64::from(*handshake));
            }
            Self::Written(pairs) => {
                to.number(3);
                write_pairs(to, pairs);
            }
            Self::Datagrams(pairs) => {
                to.number(4);
                write_pairs(to, pairs);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Self {
        match from.number() {
            0 => Self::Bulk,
            1 => Self::Push { files: read_pieces(from), fresh: from.number() != 0, handshake: from.number() != 0 },
            2 => Self::Pull {
                files: read_pieces(from),
                request: from.number(),
                fresh: from.number() != 0,
                handshake: from.number() != 0,
            },
            3 => Self::Written(read_pairs(from)),
            _ => Self::Datagrams(read_pairs(from)),
        }
    }
}

impl Flow {
    fn write(&self, to: &mut Writer) {
        to.bytes(self.name.as_bytes());
        for number in [u64::from(self.port), self.client.into(), self.server.into()] {
            to.number(number);
        }
        to.bytes(self.control.as_bytes());
        for number in [u64::from(self.segment), self.window.into(), self.paced.into(), self.traffic_class.into()] {
            to.number(number);
        }
        to.bytes(self.device.as_bytes());
        to.number(self.start);
        to.number(self.stop);
        self.work.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Self {
        Self {
            name: from.text(),
            port: from.number() as u16,
            client: from.number() as u32,
            server: from.number() as u32,
            control: from.text(),
            segment: from.number() as u32,
            window: from.number() as u32,
            paced: from.number() != 0,
            traffic_class: from.number() as u8,
            device: from.text(),
            start: from.number(),
            stop: from.number(),
            work: Work::read(from),
        }
    }
}

impl Orders {
    /// The orders as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        [self.zero, self.warm, self.end, self.sample].into_iter().for_each(|number| to.number(number));
        to.list(&self.tracked, |to, flow| to.number(*flow));
        to.list(&self.settings, |to, (namespace, path, content)| {
            to.number(*namespace);
            to.bytes(path.as_bytes());
            to.bytes(content.as_bytes());
        });
        to.list(&self.setup, write_message);
        to.list(&self.plain, |to, (namespace, name)| {
            to.number(*namespace);
            to.bytes(name.as_bytes());
        });
        for numbered in [&self.changes, &self.counted] {
            to.list(numbered, |to, (number, message)| {
                to.number(*number);
                write_message(to, message);
            });
        }
        to.list(&self.flows, |to, flow| flow.write(to));
        to.list(&self.programs, |to, program| {
            to.number(program.at);
            to.number(program.namespace);
            to.list(&program.words, |to, word| to.bytes(word.as_bytes()));
        });
        to.0
    }

    /// Reads orders; `None` if the bytes are not those of orders.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader::new(bytes);
        let orders = Self {
            zero: from.number(),
            warm: from.number(),
            end: from.number(),
            sample: from.number(),
            tracked: from.list(Reader::number),
            settings: from.list(|from| (from.number(), from.text(), from.text())),
            setup: from.list(read_message),
            plain: from.list(|from| (from.number(), from.text())),
            changes: from.list(|from| (from.number(), read_message(from))),
            counted: from.list(|from| (from.number(), read_message(from))),
            flows: from.list(Flow::read),
            programs: from.list(|from| Program {
                at: from.number(),
                namespace: from.number(),
                words: from.list(Reader::text),
            }),
        };
        from.is_whole().then_some(orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(work: Work) -> Flow {
        Flow {
            name: "ftp.1".into(),
            port: 10_000,
            client: 1,
            server: 2,
            control: "cubic".into(),
            segment: 1448,
            window: 0,
            paced: true,
            traffic_class: 0x2e << 2 | 2,
            device: "c0".into(),
            start: 5,
            stop: 9,
            work,
        }
    }

    fn orders() -> Orders {
        let message = Message { namespace: SERVERS, purpose: "create".into(), bytes: vec![1, 2, 3] };
        let files = vec![Piece { pause: 1, bytes: 2 }];
        let works = [
            Work::Bulk,
            Work::Push { files: files.clone(), fresh: true, handshake: false },
            Work::Pull { files, request: 9, fresh: false, handshake: true },
            Work::Written(vec![(1, 2)]),
            Work::Datagrams(vec![(3, 4), (5, 6)]),
        ];
        Orders {
            zero: 1,
            warm: 2,
            end: 3,
            sample: 4,
            tracked: vec![0, 3],
            settings: vec![(0, "/proc/x".into(), "1".into())],
            setup: vec![message.clone()],
            plain: vec![(1, "s0".into())],
            changes: vec![(7, message.clone())],
            counted: vec![(0, message)],
            flows: works.map(flow).to_vec(),
            programs: vec![Program { at: 5, namespace: SERVERS, words: vec!["/bin/a".into(), String::new()] }],
        }
    }

    #[test]
    fn written_orders_are_read_back() {
        assert_eq!(Orders::from_bytes(&orders().to_bytes()), Some(orders()));
    }

    #[test]
    fn truncated_orders_are_refused() {
        let bytes = orders().to_bytes();
        for len in [0, 7, 40, bytes.len() - 1] {
            assert_eq!(Orders::from_bytes(&bytes[..len]), None, "{len} bytes");
        }
    }
}
