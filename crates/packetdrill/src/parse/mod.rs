//! Reads a script: options, then events with their times. The grammar is that of packetdrill's `parser.y`.

mod packet;
mod value;

use forebay_aqm::base::time::Span;

use crate::SyntaxError;
use crate::lex::{Lexeme, Token, split};
use crate::script::{Action, Call, Event, Script, When};

/// Longest script, in seconds: no timer of TCP needs more.
const LONGEST_S: f64 = 86_400.0;
const TIME: &str = "a time in seconds from 0 to 86400";
const ACTION: &str = "a packet (< or >), a system call, a shell command in backticks, or %{ code }%";

/// Reads the text of a script. `file`: its name in errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<Script, SyntaxError> {
    let mut lexemes = split(file, text)?;
    let mut script = Script::default();
    let mut defines = Vec::new();
    lexemes.retain(|Lexeme { line, token }| {
        let Token::Flag(flag) = token else { return true };
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        match value.split_once('=') {
            Some((word, value)) if name == "define" => defines.push((word.to_string(), value.to_string())),
            _ => script.flags.push((name.to_string(), value.to_string(), *line)),
        }
        false
    });
    for lexeme in &mut lexemes {
        define(&mut lexeme.token, &defines);
    }
    let mut reader = Reader { file, lexemes, at: 0 };
    while let Some(event) = reader.event()? {
        script.events.push(event);
    }
    Ok(script)
}

/// Replaces a word by what `--define=WORD=VALUE` gives to it.
fn define(token: &mut Token, defines: &[(String, String)]) {
    let Token::Word(word) = token else { return };
    let Some((_, value)) = defines.iter().find(|(defined, _)| defined == word) else { return };
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    *token = match (inner('"'), inner('`'), value.parse()) {
        (Some(text), _, _) => Token::Text(text.to_string()),
        (_, Some(command), _) => Token::Shell(command.to_string()),
        (_, _, Ok(number)) => Token::Int(number),
        _ => Token::Word(value.clone()),
    };
}

/// Reads tokens in order.
struct Reader<'a> {
    file: &'a str,
    lexemes: Vec<Lexeme>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.lexemes.get(self.at).map(|lexeme| &lexeme.token)
    }

    /// The line of the next token, or of the last one.
    fn line(&self) -> usize {
        self.lexemes.get(self.at).or(self.lexemes.last()).map_or(1, |lexeme| lexeme.line)
    }

    fn is(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if word == wanted)
    }

    /// Is the next token on the line `line`?
    fn is_on(&self, line: usize) -> bool {
        self.lexemes.get(self.at).is_some_and(|lexeme| lexeme.line == line)
    }

    /// Takes the next token if it is this character.
    fn took(&mut self, mark: char) -> bool {
        let is = self.is(mark);
        self.at += usize::from(is);
        is
    }

    fn took_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    fn took_dots(&mut self) -> bool {
        let is = self.peek() == Some(&Token::Dots);
        self.at += usize::from(is);
        is
    }

    /// The error that something else was expected in place of the next token.
    fn expected(&self, accepts: &str) -> SyntaxError {
        let found = self.peek().map_or("the end of the file".to_string(), Token::show);
        SyntaxError { file: self.file.to_string(), line: self.line(), found, accepts: accepts.to_string() }
    }

    fn need(&mut self, mark: char) -> Result<(), SyntaxError> {
        if self.took(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn need_word(&mut self, accepts: &str) -> Result<String, SyntaxError> {
        let Some(Token::Word(word)) = self.peek() else { return Err(self.expected(accepts)) };
        let word = word.clone();
        self.at += 1;
        Ok(word)
    }

    /// An integer from 0 to `most`.
    fn need_int(&mut self, most: u32, accepts: &str) -> Result<u32, SyntaxError> {
        let number = match self.peek() {
            Some(Token::Int(number)) => u32::try_from(*number).ok().filter(|number| *number <= most),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected(&format!("{accepts}, from 0 to {most}")))?;
        self.at += 1;
        Ok(number)
    }

    /// A time in seconds.
    fn time(&mut self) -> Result<Span, SyntaxError> {
        let seconds = match self.peek() {
            Some(Token::Int(number)) => Some(*number as f64),
            Some(Token::Real(text)) => text.parse().ok(),
            _ => None,
        };
        let seconds = seconds.filter(|s| (0.0..=LONGEST_S).contains(s)).ok_or_else(|| self.expected(TIME))?;
        self.at += 1;
        // packetdrill counts whole microseconds. Rounded: 0.000003 has no exact form.
        Ok(Span::from_micros((seconds * 1e6).round() as u64))
    }

    fn event(&mut self) -> Result<Option<Event>, SyntaxError> {
        let line = self.line();
        let Some(token) = self.peek() else { return Ok(None) };
        if let Token::Shell(command) = token {
            let event = Event { line, when: When::Untimed, action: Action::Shell(command.clone()) };
            self.at += 1;
            return Ok(Some(event));
        }
        let when = self.when()?;
        let is_exact = matches!(when, When::At(from, to) | When::After(from, to) if from == to);
        if !is_exact && !self.is('>') {
            return Err(self.expected("`>`: only an expected packet has the time `*` or a range of times"));
        }
        let action = self.action()?;
        Ok(Some(Event { line, when, action }))
    }

    /// `T`, `+T`, `T~T`, `+T~+T` or `*`.
    fn when(&mut self) -> Result<When, SyntaxError> {
        if self.took('*') {
            return Ok(When::Any);
        }
        let is_relative = self.took('+');
        let from = self.time()?;
        let mut to = from;
        if self.took('~') {
            if is_relative {
                self.need('+')?;
            }
            to = self.time()?;
            if to < from {
                self.at -= 1;
                return Err(self.expected("a time that is not before the start of the range"));
            }
        }
        Ok(if is_relative { When::After(from, to) } else { When::At(from, to) })
    }

    fn action(&mut self) -> Result<Action, SyntaxError> {
        match self.peek() {
            Some(Token::Mark('<' | '>')) => self.packet(),
            Some(Token::Shell(command)) => {
                let action = Action::Shell(command.clone());
                self.at += 1;
                Ok(action)
            }
            Some(Token::Code(code)) => {
                let action = Action::Code(code.clone());
                self.at += 1;
                Ok(action)
            }
            Some(Token::Word(_) | Token::Dots) => self.call().map(Action::Call),
            _ => Err(self.expected(ACTION)),
        }
    }

    /// `[...T] NAME(ARGUMENTS) = RESULT [ERRNO] [(NOTE)]`.
    fn call(&mut self) -> Result<Call, SyntaxError> {
        if self.took_dots() {
            // When a blocking call returns: this runner has no threads, so nothing depends on it.
            self.time()?;
        }
        let name = self.need_word("the name of a system call")?;
        self.need('(')?;
        let arguments = self.values(')')?;
        self.need('=')?;
        let result = self.value()?;
        if matches!(self.peek(), Some(Token::Word(_))) {
            self.at += 1;
        }
        if self.took('(') {
            while !self.took(')') {
                self.need_word("the words of a note, and `)`")?;
            }
        }
        Ok(Call { name, arguments, result })
    }
}
