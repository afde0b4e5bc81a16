//! Splits a script into tokens, each with its line.

use crate::SyntaxError;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// An integer, decimal or with `0x`.
    Int(i64),
    /// A number with a point, as written.
    Real(String),
    /// A name of letters, digits and underscores.
    Word(String),
    /// A text in quotation marks.
    Text(String),
    /// A shell command in backticks.
    Shell(String),
    /// Python code between `%{` and `}%`.
    Code(String),
    /// An option of packetdrill at the start of a line: `--NAME` or `--NAME=VALUE`, without the dashes.
    Flag(String),
    /// Three points.
    Dots,
    /// Another character.
    Mark(char),
}

impl Token {
    /// The token as an error message shows it.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Real(text) | Self::Word(text) => text.clone(),
            Self::Text(text) => format!("\"{}\"", short(text)),
            Self::Shell(text) => format!("`{}`", short(text)),
            Self::Code(_) => "%{ ... }%".to_string(),
            Self::Flag(text) => format!("--{}", short(text)),
            Self::Dots => "...".to_string(),
            Self::Mark(mark) => mark.to_string(),
        }
    }
}

/// At most 40 characters of the first line of a text.
pub(crate) fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}

/// A token and the line on which it begins, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lexeme {
    pub(crate) line: usize,
    pub(crate) token: Token,
}

/// The text that is not yet split.
struct Rest<'a> {
    file: &'a str,
    text: &'a str,
    line: usize,
    /// Has the current line no token yet?
    fresh: bool,
}

/// Splits the text of a script. `file`: its name in errors.
pub(crate) fn split(file: &str, text: &str) -> Result<Vec<Lexeme>, SyntaxError> {
    let mut rest = Rest { file, text, line: 1, fresh: true };
    let mut found = Vec::new();
    while let Some(lexeme) = rest.next()? {
        found.push(lexeme);
    }
    Ok(found)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Rest<'a> {
    /// Removes `length` bytes, which must end at a character.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.text.split_at(length);
        self.text = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        self.take(self.text.find(|c| !accept(c)).unwrap_or(self.text.len()))
    }

    fn error(&self, line: usize, found: &str, accepts: &str) -> SyntaxError {
        SyntaxError { file: self.file.to_string(), line, found: found.to_string(), accepts: accepts.to_string() }
    }

    /// Removes a text that begins with `open` and ends with `close`. Returns what is between them.
    fn between(&mut self, open: &str, close: &str, accepts: &str) -> Result<&'a str, SyntaxError> {
        let line = self.line;
        let Some(length) = self.text[open.len()..].find(close) else {
            return Err(self.error(line, "the end of the file", accepts));
        };
        let taken = self.take(open.len() + length + close.len());
        Ok(&taken[open.len()..open.len() + length])
    }

    /// Removes spaces and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let space = self.take_while(char::is_whitespace);
            self.fresh |= space.contains('\n');
            if self.text.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.text.starts_with("/*") {
                self.between("/*", "*/", "the end of the comment: */")?;
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Option<Lexeme>, SyntaxError> {
        self.skip()?;
        let line = self.line;
        let Some(first) = self.text.chars().next() else { return Ok(None) };
        let is_first = std::mem::take(&mut self.fresh);
        let token = if is_first && self.text.starts_with("--") {
            Token::Flag(self.take_while(|c| c != '\n')[2..].trim().to_string())
        } else if self.text.starts_with("...") {
            self.take(3);
            Token::Dots
        } else if self.text.starts_with("%{") {
            Token::Code(self.between("%{", "}%", "the end of the code: }%")?.to_string())
        } else if first == '`' {
            Token::Shell(self.between("`", "`", "the end of the shell command: `")?.to_string())
        } else if first == '"' {
            Token::Text(self.between("\"", "\"", "the end of the text: \"")?.to_string())
        } else {
            self.number_or_word(line, first)?
        };
        Ok(Some(Lexeme { line, token }))
    }

    /// The longest number or name, or one character.
    fn number_or_word(&mut self, line: usize, first: char) -> Result<Token, SyntaxError> {
        let sign = usize::from(first == '-');
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(&self.text[sign..]);
        let after = &self.text[sign + whole..];
        let fraction = after.strip_prefix('.').map_or(0, digits);
        let name = self.text.find(|c| !is_name(c)).unwrap_or(self.text.len());
        if fraction > 0 {
            return Ok(Token::Real(self.take(sign + whole + 1 + fraction).to_string()));
        }
        if name > whole || (whole == 0 && name > 0) {
            let word = self.take(name);
            let hex = word.strip_prefix("0x").map(|hex| i64::from_str_radix(hex, 16));
            return match hex {
                Some(Ok(number)) => Ok(Token::Int(number)),
                Some(Err(_)) => Err(self.error(line, word, "a hexadecimal number of at most 63 bits")),
                None => Ok(Token::Word(word.to_string())),
            };
        }
        if whole > 0 {
            let text = self.take(sign + whole);
            return text.parse().map(Token::Int).map_err(|_| self.error(line, text, "a number of at most 63 bits"));
        }
        self.take(first.len_utf8());
        Ok(Token::Mark(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        split("s.pkt", text).unwrap().into_iter().map(|lexeme| lexeme.token).collect()
    }

    fn word(text: &str) -> Token {
        Token::Word(text.to_string())
    }

    fn real(text: &str) -> Token {
        Token::Real(text.to_string())
    }

    #[test]
    fn times_ranges_and_points_are_separate_tokens() {
        let mark = Token::Mark;
        assert_eq!(tokens("+.3~+1"), [mark('+'), real(".3"), mark('~'), mark('+'), Token::Int(1)]);
        assert_eq!(tokens("0...0.200"), [Token::Int(0), Token::Dots, real("0.200")]);
        assert_eq!(tokens("P. 1:5"), [word("P"), mark('.'), Token::Int(1), mark(':'), Token::Int(5)]);
        assert_eq!(tokens("-1 - 0x1f a1"), [Token::Int(-1), mark('-'), Token::Int(31), word("a1")]);
    }

    #[test]
    fn comments_are_skipped_and_lines_counted() {
        let found = split("s.pkt", "// one\n/* two\nthree */ 4\n`a\nb` 5").unwrap();
        assert_eq!(found.iter().map(|lexeme| lexeme.line).collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn flags_are_at_the_start_of_lines() {
        assert_eq!(tokens("--mss=1000 \n1"), [Token::Flag("mss=1000".to_string()), Token::Int(1)]);
        assert_eq!(tokens("1 --a")[1], Token::Mark('-'));
    }
}
