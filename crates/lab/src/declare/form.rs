//! Forms: how the values of scenario keys are read, written and described.

use std::marker::PhantomData;

use serde_json::Value as Json;

use super::cursor::{Form, Parsed, Setting, Table, one_of, quantity, whole};
use super::{Keys, inline, schema, table_of};
use crate::document::{Node, Text, Value, join, list, quote};
use crate::input::{InputError, no_such_word};

/// A quantity with its unit: how it is parsed and shown.
pub(crate) struct Quantity<T>(pub(crate) fn(&str) -> Parsed<T>, pub(crate) fn(T) -> String);

impl<T: Copy> Form for Quantity<T> {
    type Value = T;
    fn schema(&self) -> Json {
        schema::quantity()
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<T, InputError> {
        quantity(node, path, self.0)
    }
    fn show(&self, value: &T) -> String {
        quote(&(self.1)(*value))
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        // The error of a parser for an empty text says what it accepts.
        (self.0)("").err().map_or_else(String::new, |bad| bad.accepts.into_owned())
    }
}

/// A list of at least one quantity. The second field describes the list in error messages.
pub(crate) struct Quantities<T>(pub(crate) Quantity<T>, pub(crate) &'static str);

impl<T: Copy> Form for Quantities<T> {
    type Value = Vec<T>;
    fn schema(&self) -> Json {
        schema::many(schema::quantity())
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Vec<T>, InputError> {
        let Value::List(items) = &node.value else { return Err(node.error(path, self.1)) };
        if items.is_empty() {
            return Err(node.error(path, self.1));
        }
        items.iter().enumerate().map(|(i, item)| self.0.read(table, item, &format!("{path}[{i}]"))).collect()
    }
    fn show(&self, values: &Vec<T>) -> String {
        list(values.iter().map(|value| self.0.show(value)))
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        self.1.to_string()
    }
}

/// A number without a unit.
pub(crate) struct Number(pub(crate) fn(&str) -> Parsed<f64>);

impl Form for Number {
    type Value = f64;
    fn schema(&self) -> Json {
        schema::quantity()
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<f64, InputError> {
        quantity(node, path, self.0)
    }
    fn show(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

/// A whole number within bounds.
pub(crate) struct Whole<T>(u32, u32, PhantomData<T>);

/// A whole number from `lo` to `hi`.
pub(crate) const fn whole_number<T>(lo: u32, hi: u32) -> Whole<T> {
    Whole(lo, hi, PhantomData)
}

impl<T: TryFrom<u32> + ToString> Form for Whole<T> {
    type Value = T;
    fn schema(&self) -> Json {
        schema::whole(self.0, self.1)
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<T, InputError> {
        let number = whole(node, path, self.0..=self.1)?;
        T::try_from(number).map_err(|_| node.error(path, format!("a whole number from {} to {}", self.0, self.1)))
    }
    fn show(&self, value: &T) -> String {
        value.to_string()
    }
}

/// A whole number within bounds, or a word that means `None`.
pub(crate) struct WholeOr(pub(crate) u32, pub(crate) u32, pub(crate) &'static str);

impl Form for WholeOr {
    type Value = Option<u32>;
    fn schema(&self) -> Json {
        schema::whole_or(self.0, self.1, self.2)
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<Option<u32>, InputError> {
        if node.text() == Some(self.2) {
            return Ok(None);
        }
        whole(node, path, self.0..=self.1).map(Some).map_err(|mut error| {
            error.accepts += &format!(", or \"{}\"", self.2);
            error
        })
    }
    fn show(&self, value: &Option<u32>) -> String {
        value.map_or_else(|| quote(self.2), |number| number.to_string())
    }
}

/// `true` or `false`.
pub(crate) struct Flag;

impl Form for Flag {
    type Value = bool;
    fn schema(&self) -> Json {
        schema::flag()
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<bool, InputError> {
        match node.value {
            Value::Flag(on) => Ok(on),
            _ => Err(node.error(path, "true or false")),
        }
    }
    fn show(&self, value: &bool) -> String {
        value.to_string()
    }
}

/// A value that is written as one of these words.
pub(crate) struct Words<T: 'static>(pub(crate) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Words<T> {
    fn all(&self) -> Vec<&'static str> {
        self.0.iter().map(|(word, _)| *word).collect()
    }

    /// The word of `value`.
    pub(crate) fn word(&self, value: T) -> &'static str {
        self.0.iter().find(|(_, other)| *other == value).map_or("", |(word, _)| word)
    }
}

impl<T: Copy + PartialEq> Form for Words<T> {
    type Value = T;
    fn schema(&self) -> Json {
        schema::word(&self.all())
    }
    fn read(&self, _: &Table<'_>, node: &Node, path: &str) -> Result<T, InputError> {
        one_of(node, path, self.0)
    }
    fn show(&self, value: &T) -> String {
        quote(self.word(*value))
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        no_such_word("", &self.all()).accepts.into_owned()
    }
}

/// A table under a separate `[header]`.
pub(crate) struct Section<T> {
    /// Description of the table, for the error if it is missing.
    accepts: &'static str,
    keys: PhantomData<T>,
}

/// A table under a separate `[header]`. `accepts` describes the table in the error if it is missing.
pub(crate) const fn section<T>(accepts: &'static str) -> Section<T> {
    Section { accepts, keys: PhantomData }
}

impl<T: Keys> Form for Section<T> {
    type Value = T;
    fn schema(&self) -> Json {
        table_of::<T>("")
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<T, InputError> {
        Table::whole_of(node, path, table.setting)
    }
    fn show(&self, value: &T) -> String {
        inline(value)
    }
    fn write(&self, out: &mut Text, key: &str, value: &T) {
        out.table(key, |out| value.write(out));
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        self.accepts.to_string()
    }
}

/// A list of tables, at least one and at most `most`.
pub(crate) struct Sections<T> {
    /// Description of an item.
    doc: &'static str,
    most: usize,
    keys: PhantomData<T>,
}

/// A list of one to `most` tables, each described by `doc`.
pub(crate) const fn sections<T>(most: usize, doc: &'static str) -> Sections<T> {
    Sections { doc, most, keys: PhantomData }
}

impl<T: Keys> Form for Sections<T> {
    type Value = Vec<T>;
    fn schema(&self) -> Json {
        schema::many(table_of::<T>(self.doc))
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Vec<T>, InputError> {
        let Value::List(items) = &node.value else { return Err(node.error(path, self.accepts(table, path))) };
        if items.is_empty() || items.len() > self.most {
            return Err(node.error(path, self.accepts(table, path)));
        }
        let read = |(index, item): (usize, &Node)| {
            let name = item.get("name").and_then(Node::text).map_or_else(|| index.to_string(), str::to_string);
            Table::whole_of(item, &join(path, &name), Setting { index, ..table.setting })
        };
        items.iter().enumerate().map(read).collect()
    }
    fn show(&self, values: &Vec<T>) -> String {
        list(values.iter().map(inline))
    }
    fn write(&self, out: &mut Text, key: &str, values: &Vec<T>) {
        values.iter().for_each(|value| out.item(key, |out| value.write(out)));
    }
    fn accepts(&self, _: &Table<'_>, path: &str) -> String {
        format!("one or more [[{path}]] tables, at most {}", self.most)
    }
}

/// A value that the functions in these fields describe, read and write.
pub(crate) struct Custom<T> {
    pub(crate) schema: fn() -> Json,
    pub(crate) read: fn(&Table<'_>, &Node, &str) -> Result<T, InputError>,
    pub(crate) show: fn(&T) -> String,
    /// What is accepted; the error for a missing key shows it after "expected ".
    pub(crate) accepts: &'static str,
}

impl<T> Form for Custom<T> {
    type Value = T;
    fn schema(&self) -> Json {
        (self.schema)()
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<T, InputError> {
        (self.read)(table, node, path)
    }
    fn show(&self, value: &T) -> String {
        (self.show)(value)
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        self.accepts.to_string()
    }
}
