//! System calls: what they do to the connection.

use super::Runner;
use crate::script::{Call, Value};

/// Flags of the calls that hand over data, and options of sockets, which change what a sender does in a way that cannot
/// be expressed.
const BEYOND: [(&str, &str); 19] = [
    ("MSG_FASTOPEN", "TCP Fast Open"),
    ("MSG_OOB", "urgent data"),
    ("MSG_ZEROCOPY", "zero-copy sending"),
    ("SO_ZEROCOPY", "zero-copy sending"),
    ("TCP_ZEROCOPY_RECEIVE", "zero-copy receiving"),
    ("TCP_FASTOPEN", "TCP Fast Open"),
    ("TCP_FASTOPEN_CONNECT", "TCP Fast Open"),
    ("TCP_FASTOPEN_KEY", "TCP Fast Open"),
    ("TCP_FASTOPEN_NO_COOKIE", "TCP Fast Open"),
    ("TCP_MD5SIG", "TCP MD5 signatures"),
    ("TCP_USER_TIMEOUT", "the timeout of the user (TCP_USER_TIMEOUT)"),
    ("TCP_SYNCNT", "retransmissions of the handshake"),
    ("TCP_DEFER_ACCEPT", "deferred accepting (TCP_DEFER_ACCEPT)"),
    ("TCP_QUICKACK", "quick acknowledgements on request (TCP_QUICKACK)"),
    ("TCP_REPAIR", "repair of a socket (TCP_REPAIR)"),
    ("TCP_THIN_LINEAR_TIMEOUTS", "rules for thin streams"),
    ("TCP_KEEPIDLE", "keepalive packets"),
    ("SO_KEEPALIVE", "keepalive packets"),
    ("SO_MAX_PACING_RATE", "a limit on the pacing rate"),
];

impl Runner<'_> {
    pub(super) fn call(&mut self, call: &Call) -> Result<(), String> {
        let names = |word: &str| call.arguments.iter().any(|argument| argument.names(word));
        if call.name != "getsockopt"
            && let Some((_, what)) = BEYOND.iter().find(|(word, _)| names(word))
        {
            return Err((*what).to_string());
        }
        let fd = call.arguments.first().and_then(Value::number);
        match call.name.as_str() {
            "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile" => self.hand_over(call)?,
            "socket" | "bind" | "accept" | "open" => {}
            "listen" => self.listener = fd,
            "connect" if self.handshake.has_begun() => return Err("a second connection".to_string()),
            "connect" => self.handshake.is_active = true,
            "close" if fd == self.listener || !self.handshake.has_begun() => {}
            "close" => self.close()?,
            "shutdown" if names("SHUT_RD") => self.report.skipped += 1,
            "shutdown" => self.close()?,
            "setsockopt" => self.set_option(call)?,
            "splice" => return Err("splice".to_string()),
            _ => self.report.skipped += 1,
        }
        Ok(())
    }

    /// A call that hands over as many bytes as its result says.
    fn hand_over(&mut self, call: &Call) -> Result<(), String> {
        let bytes = call.result.number().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        if bytes == 0 {
            self.report.skipped += 1;
            return Ok(());
        }
        if self.is_closing {
            return Err("data after the connection has begun to close".to_string());
        }
        let has = |flag: &str| call.arguments.iter().skip(1).any(|argument| argument.names(flag));
        match &mut self.connection {
            Some(connection) => connection.write(bytes, has("MSG_EOR"), has("MSG_MORE")),
            None => Err("data before the connection is established".to_string()),
        }
    }

    fn set_option(&mut self, call: &Call) -> Result<(), String> {
        let is = |word: &str| call.arguments.get(2).is_some_and(|argument| argument.names(word));
        let value = call.arguments.get(3);
        if is("TCP_CONGESTION") {
            if self.connection.is_some() {
                return Err("another congestion control during a connection".to_string());
            }
            self.settings.congestion = value.and_then(Value::text).map(str::to_string);
        } else if is("TCP_MAXSEG") {
            let mss = value.and_then(Value::number).and_then(|mss| u32::try_from(mss).ok());
            self.most = mss.map_or(self.most, |mss| mss.min(self.most));
        } else if let Some(connection) = self.connection.as_mut().filter(|_| is("TCP_NODELAY") || is("TCP_CORK")) {
            let on = value.and_then(Value::number) != Some(0);
            let stream = &mut connection.stream;
            if is("TCP_CORK") {
                (stream.corked, stream.more) = (on, false);
            } else {
                // What waits is sent, even if `TCP_CORK` is set.
                (stream.no_delay, stream.pushed) = (on, on && stream.waiting() > 0);
            }
            return connection.push();
        } else if is("TCP_NODELAY") {
            self.settings.no_delay = value.and_then(Value::number) != Some(0);
        } else if !is("SO_REUSEADDR") {
            self.report.skipped += 1;
        }
        Ok(())
    }
}
