//! Pages of many objects, which a client fetches over several connections, as a browser does.
//!
//! The client requests the first object, the document, on its first connection. When it has arrived, the client requests
//! the other objects, one at a time on each connection. The page is complete when all objects have arrived. The client
//! then rests, and requests the next page. Connections are not closed with FINs.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::session::Files;

/// Largest number of connections of a client.
pub const MOST_CONNECTIONS: u32 = 64;

/// One connection of a client that fetches pages. The connections of a client are consecutive flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PageConnection {
    /// Objects, requests and handshakes. `count` is the number of pages and `think` the time between two pages; `fresh`: new
    /// connections for each page.
    pub files: Files,
    /// Number of objects of a page, the document included.
    pub objects: u32,
    /// Number of connections of the client, at most [`MOST_CONNECTIONS`].
    pub connections: u32,
    /// Number of this connection, from 0.
    pub number: u32,
}

impl PageConnection {
    /// The files of the connection's session, which waits for the client.
    pub(super) fn session(&self) -> Files {
        Files { count: Some(0), fresh: false, ..self.files }
    }
}

/// An object that the client requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetch {
    /// Number of the connection.
    pub(crate) connection: u32,
    /// When it is requested.
    pub(crate) at: Instant,
    /// Is it requested on a new connection?
    pub(crate) fresh: bool,
}

/// State of a client.
pub(crate) struct Client {
    page: PageConnection,
    rng: Rng,
    /// Pages left; `None`: unlimited.
    left: Option<u32>,
    /// When the current page was requested.
    since: Instant,
    /// Objects of the current page that were requested, and that arrived.
    requested: u32,
    arrived: u32,
    /// One bit for each connection: is it waiting for a request? Has it fetched an object of this page?
    free: u64,
    used: u64,
}

impl Client {
    /// A client before its start; `page`: its first connection.
    pub(crate) fn new(page: PageConnection, rng: Rng) -> Self {
        let free = u64::MAX >> (u64::BITS - page.connections.clamp(1, MOST_CONNECTIONS));
        Self { page, rng, left: page.files.count, since: Instant::ZERO, requested: 0, arrived: 0, free, used: 0 }
    }

    /// Requests the document of the next page at `at`. `None`: there are no more pages.
    pub(crate) fn begin(&mut self, at: Instant) -> Option<Fetch> {
        if self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        (self.since, self.requested, self.arrived, self.used) = (at, 0, 0, 0);
        self.request(0, at)
    }

    /// Requests the next object on this connection.
    fn request(&mut self, connection: u32, at: Instant) -> Option<Fetch> {
        let bit = 1 << connection;
        let fresh = self.page.files.fresh && self.used & bit == 0;
        (self.free, self.used) = (self.free & !bit, self.used | bit);
        self.requested += 1;
        Some(Fetch { connection, at, fresh })
    }

    /// An object has arrived on this connection. Returns the load time of the page if it is complete.
    pub(crate) fn arrived(&mut self, connection: u32, now: Instant) -> Option<Span> {
        self.free |= 1 << connection;
        self.arrived += 1;
        (self.arrived == self.page.objects).then(|| now.since(self.since))
    }

    /// The next object to request at `now`, after the arrival of one. Call it until it returns `None`.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Fetch> {
        if self.arrived == 0 {
            return None;
        }
        if self.requested < self.page.objects {
            return if self.free == 0 { None } else { self.request(self.free.trailing_zeros(), now) };
        }
        if self.arrived < self.page.objects || self.left == Some(0) {
            return None;
        }
        let think = Span::from_secs(self.page.files.think.next(&mut self.rng));
        self.begin(now + think)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::draw::Draw;
    use crate::traffic::session::Opening;

    fn client(objects: u32, connections: u32, pages: Option<u32>, fresh: bool) -> Client {
        let (size, think) = (Draw::Constant(1000.0), Draw::Constant(2.0));
        let files = Files { size, think, count: pages, fresh, request: Some(400), opening: Opening::Handshake };
        Client::new(PageConnection { files, objects, connections, number: 0 }, Rng::stream(1, "client"))
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// The connections on which the client requests objects now.
    fn requests(client: &mut Client, now: Instant) -> Vec<u32> {
        std::iter::from_fn(|| client.next(now)).map(|fetch| fetch.connection).collect()
    }

    #[test]
    fn objects_follow_the_document_on_free_connections() {
        let mut client = client(5, 3, Some(1), false);
        assert_eq!(client.begin(at(10)), Some(Fetch { connection: 0, at: at(10), fresh: false }));
        assert_eq!(client.arrived(0, at(20)), None);
        assert_eq!(requests(&mut client, at(20)), [0, 1, 2], "three of the four other objects");
        assert_eq!(client.arrived(1, at(30)), None);
        assert_eq!(requests(&mut client, at(30)), [1], "the fourth");
        for connection in [0, 2] {
            assert_eq!(client.arrived(connection, at(40)), None);
            assert_eq!(requests(&mut client, at(40)), []);
        }
        assert_eq!(client.arrived(1, at(50)), Some(Span::from_millis(40)), "from the request of the document");
        assert_eq!(requests(&mut client, at(50)), [], "it was the only page");
    }

    #[test]
    fn next_page_begins_after_the_think_time() {
        let mut client = client(2, 6, None, false);
        assert!(client.begin(at(0)).is_some());
        assert_eq!(client.arrived(0, at(3)), None);
        assert_eq!(requests(&mut client, at(3)), [0]);
        assert_eq!(client.arrived(0, at(5)), Some(Span::from_millis(5)));
        assert_eq!(client.next(at(5)).map(|fetch| fetch.at), Some(at(2005)));
        assert_eq!(client.next(at(5)), None, "its document has not arrived");
    }

    #[test]
    fn fresh_connections_open_once_for_each_page() {
        let mut client = client(3, 1, Some(2), true);
        let mut fresh = vec![client.begin(at(0)).unwrap().fresh];
        for ms in 1..=6 {
            client.arrived(0, at(ms));
            fresh.extend(client.next(at(ms)).map(|fetch| fetch.fresh));
        }
        assert_eq!(fresh, [true, false, false, true, false, false]);
    }
}
