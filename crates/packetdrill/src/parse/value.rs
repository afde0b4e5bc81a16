//! Reads arguments and results of system calls.

use super::Reader;
use crate::SyntaxError;
use crate::lex::Token;
use crate::script::Value;

/// Deepest nesting of lists.
const DEEPEST: usize = 32;
const VALUE: &str = "a number, a name, a text, `...`, a list in brackets or a structure in braces";

impl Reader<'_> {
    /// One argument, at the top level.
    pub(super) fn value(&mut self) -> Result<Value, SyntaxError> {
        self.value_within(DEEPEST)
    }

    /// Arguments up to the character `close`.
    pub(super) fn values(&mut self, close: char) -> Result<Vec<Value>, SyntaxError> {
        self.values_within(close, DEEPEST)
    }

    fn values_within(&mut self, close: char, deepest: usize) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        if self.took(close) {
            return Ok(values);
        }
        loop {
            values.push(self.value_within(deepest)?);
            if self.took(close) {
                return Ok(values);
            }
            if !self.took(',') {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// `A`, `A | B`, `A = B` or a sequence of texts.
    fn value_within(&mut self, deepest: usize) -> Result<Value, SyntaxError> {
        let mut parts = vec![self.single(deepest)?];
        loop {
            let is_text = matches!(parts.last(), Some(Value::Text(_)));
            if self.took('|') || self.took('=') || is_text && matches!(self.peek(), Some(Token::Text(_))) {
                parts.push(self.single(deepest)?);
            } else if is_text && self.took_dots() {
                // A text that is repeated.
            } else {
                break;
            }
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Value::List(parts) })
    }

    fn single(&mut self, deepest: usize) -> Result<Value, SyntaxError> {
        let error = self.expected(VALUE);
        let Some(deeper) = deepest.checked_sub(1) else { return Err(self.expected("fewer nested lists")) };
        let token = self.peek().cloned().ok_or(error.clone())?;
        self.at += 1;
        Ok(match token {
            Token::Int(number) => Value::Int(number),
            Token::Text(text) => Value::Text(text),
            Token::Dots => Value::Dots,
            Token::Mark('[') => Value::List(self.values_within(']', deeper)?),
            Token::Mark('{') => Value::List(self.values_within('}', deeper)?),
            Token::Word(word) if self.took('(') => {
                let mut values = vec![Value::Word(word)];
                values.extend(self.values_within(')', deeper)?);
                Value::List(values)
            }
            Token::Word(word) => Value::Word(word),
            _ => return Err(error),
        })
    }
}
