//! Reads packets.

use forebay_aqm::base::packet::Ecn;

use super::Reader;
use crate::SyntaxError;
use crate::lex::Token;
use crate::script::{Action, Codepoint, Flags, Options, Packet};

const FLAGS: &str = "flags of TCP (letters of FSRPEWUA, then `.` for ACK), or `-` for none";
const OPTION: &str = "an option of TCP: mss, wscale, sackOK, sack, TS, nop, eol, FO, FOEXP, md5 or ECN";
const U16: u32 = u16::MAX as u32;

impl Reader<'_> {
    /// `< [ECN] FLAGS START:END(LENGTH) [ack N] [win N] [urg N] [<OPTIONS>]`.
    pub(super) fn packet(&mut self) -> Result<Action, SyntaxError> {
        let line = self.line();
        let is_expected = self.is('>');
        self.at += 1;
        let mut packet = Packet { is_expected, ..Packet::default() };
        if self.took('[') {
            packet.ecn = self.marking(is_expected)?;
        }
        for (word, what) in [
            ("icmp", "ICMP"),
            ("udp", "UDP"),
            ("ipv4", "a packet within a packet"),
            ("ipv6", "a packet within a packet"),
            ("gre", "GRE"),
            ("mpls", "MPLS"),
            ("psp", "PSP"),
        ] {
            if self.is_word(word) {
                // The rest of the line has a grammar of its own.
                while self.is_on(line) {
                    self.at += 1;
                }
                return Ok(Action::Foreign(what));
            }
        }
        if let (Some(Token::Int(_)), Some(Token::Mark('>'))) =
            (self.peek(), self.lexemes.get(self.at + 1).map(|lexeme| &lexeme.token))
        {
            self.need_int(U16, "a port")?;
            self.at += 1;
            self.need_int(U16, "a port")?;
        }
        packet.flags = self.flags()?;
        (packet.seq, packet.len) = self.range()?;
        if self.took_word("ack") {
            packet.ack = Some(self.need_int(u32::MAX, "an acknowledgement number")?);
        }
        if self.took_word("win") {
            packet.win = Some(self.need_int(U16, "a window")?);
        }
        if self.took_word("urg") {
            self.need_int(U16, "an urgent pointer")?;
            packet.flags.beyond = Some("urgent data");
        }
        packet.options = Some(Options::default());
        if self.took('<') {
            packet.options = self.options(is_expected)?;
        }
        Ok(Action::Packet(packet))
    }

    /// `ect0]`, `tos 0x2]`, `ttl 64]` and the like, after the bracket. `None`: no codepoint.
    fn marking(&mut self, is_expected: bool) -> Result<Option<Codepoint>, SyntaxError> {
        let mut found = None;
        loop {
            let accepts = "noecn, ect0, ect1, ce, ect01, tos, ttl or flowlabel";
            found = match self.need_word(accepts)?.as_str() {
                "noecn" => Some(Codepoint::One(Ecn::NotEct)),
                "ect0" => Some(Codepoint::One(Ecn::Ect0)),
                "ect1" => Some(Codepoint::One(Ecn::Ect1)),
                "ce" => Some(Codepoint::One(Ecn::Ce)),
                "ect01" if is_expected => Some(Codepoint::Either),
                "tos" => match self.need_int(255, "a type of service")? & 3 {
                    0 => Some(Codepoint::One(Ecn::NotEct)),
                    1 => Some(Codepoint::One(Ecn::Ect1)),
                    2 => Some(Codepoint::One(Ecn::Ect0)),
                    _ => Some(Codepoint::One(Ecn::Ce)),
                },
                "ttl" | "flowlabel" => {
                    self.need_int(u32::MAX, "a number")?;
                    found
                }
                _ => {
                    self.at -= 1;
                    return Err(self.expected(accepts));
                }
            };
            if !self.took(',') {
                self.need(']')?;
                return Ok(found);
            }
        }
    }

    /// `S`, `P.`, `SEW`, `.`, `-`, `.5` (ACE).
    fn flags(&mut self) -> Result<Flags, SyntaxError> {
        let mut flags = Flags::default();
        let error = self.expected(FLAGS);
        if self.took('-') {
            return Ok(flags);
        }
        let mut is_empty = true;
        if let Some(Token::Word(word)) = self.peek() {
            for letter in word.clone().chars() {
                match letter {
                    'F' => flags.fin = true,
                    'S' => flags.syn = true,
                    'R' => flags.rst = true,
                    'P' => {}
                    'E' => flags.ece = true,
                    'W' => flags.cwr = true,
                    'U' => flags.beyond = Some("urgent data"),
                    'A' => flags.beyond = Some("the negotiation of AccECN"),
                    _ => return Err(error),
                }
            }
            self.at += 1;
            is_empty = false;
        }
        match self.peek() {
            Some(Token::Mark('.')) => {
                flags.ack = true;
                self.at += 1;
            }
            // `.5`: ACK, and the field ACE.
            Some(Token::Real(text)) if text.starts_with('.') && text.len() == 2 => {
                (flags.ack, flags.beyond) = (true, Some("the field ACE of AccECN"));
                self.at += 1;
            }
            _ if is_empty => return Err(error),
            _ => {}
        }
        Ok(flags)
    }

    /// `START:END(LENGTH)`.
    fn range(&mut self) -> Result<(u32, u32), SyntaxError> {
        let start = self.need_int(u32::MAX, "a sequence number")?;
        self.need(':')?;
        let end = self.need_int(u32::MAX, "a sequence number")?;
        self.need('(')?;
        let length = self.need_int(U16, "a number of bytes")?;
        if start.checked_add(length) != Some(end) {
            self.at -= 1;
            return Err(self.expected("the number of bytes between the two sequence numbers"));
        }
        self.need(')')?;
        Ok((start, length))
    }

    /// The options after the angle bracket. `None`: `<...>`, not compared.
    fn options(&mut self, is_expected: bool) -> Result<Option<Options>, SyntaxError> {
        if is_expected && self.took_dots() {
            self.need('>')?;
            return Ok(None);
        }
        let mut options = Options::default();
        loop {
            self.option(&mut options)?;
            if self.took('>') {
                return Ok(Some(options));
            }
            if !self.took(',') {
                return Err(self.expected("`,` or `>`"));
            }
        }
    }

    fn option(&mut self, options: &mut Options) -> Result<(), SyntaxError> {
        let word = self.need_word(OPTION)?;
        match word.as_str() {
            "nop" | "eol" => {}
            "mss" => options.mss = Some(self.need_int(U16, "a segment size")?),
            "wscale" => options.wscale = Some(self.need_int(255, "a window scale")?),
            "sackOK" => options.sack_permitted = true,
            "TS" => {
                for part in ["val", "ecr"] {
                    if !self.took_word(part) {
                        return Err(self.expected(&format!("`{part}`")));
                    }
                    self.need_int(u32::MAX, "a timestamp")?;
                }
                options.timestamps = true;
            }
            "sack" => {
                while matches!(self.peek(), Some(Token::Int(_))) {
                    let left = self.need_int(u32::MAX, "a sequence number")?;
                    self.need(':')?;
                    options.sack.push((left, self.need_int(u32::MAX, "a sequence number")?));
                }
                if options.sack.is_empty() {
                    return Err(self.expected("a block: START:END"));
                }
            }
            "FO" | "FOEXP" => {
                options.beyond = Some("TCP Fast Open");
                self.skip_blob();
            }
            "md5" => {
                options.beyond = Some("TCP MD5 signatures");
                self.skip_blob();
            }
            "ECN" => {
                options.beyond = Some("the AccECN option");
                while matches!(self.peek(), Some(Token::Word(_) | Token::Int(_))) {
                    self.at += 1;
                }
            }
            _ => {
                self.at -= 1;
                return Err(self.expected(OPTION));
            }
        }
        Ok(())
    }

    /// Hexadecimal digits, which read as a name or a number.
    fn skip_blob(&mut self) {
        self.at += usize::from(matches!(self.peek(), Some(Token::Word(_) | Token::Int(_))));
    }
}
