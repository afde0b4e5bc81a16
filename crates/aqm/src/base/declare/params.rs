//! Declaration of a discipline's parameters: type, default, range, unit, symbol, source and meaning in one place.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};

use crate::base::accepted::phrase;
use crate::base::text::{self, BadValue};
use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Limit, Rate};

/// A type of parameter values.
pub trait Value: Sized {
    /// Description of accepted text. Error messages print it after "expected ".
    const ACCEPTS: &'static str;
    /// The unit that tables of parameters show, or the accepted keywords separated by `|`.
    const UNIT: &'static str;
    /// A keyword accepted in addition to [`ACCEPTS`](Self::ACCEPTS).
    const INSTEAD: Option<&'static str> = None;
    /// The unit of the range; `None` if ranges do not apply.
    const RANGE_IN: Option<&'static str> = None;

    /// Parses a value.
    fn parse(text: &str) -> Result<Self, BadValue>;

    /// The value in canonical form.
    fn show(&self) -> String;

    /// The number that is checked against the range, in base units; `None` if ranges do not apply.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Whether every number of the value is within `range`.
    fn within(&self, range: (f64, f64)) -> bool {
        self.number().is_none_or(|n| (range.0..=range.1).contains(&n))
    }
}

impl Value for f64 {
    const ACCEPTS: &'static str = "a number";
    const UNIT: &'static str = "1";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Value for u32 {
    const ACCEPTS: &'static str = "a whole number";
    const UNIT: &'static str = "1";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text.trim().parse().map_err(|_| BadValue::new(Self::ACCEPTS))
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some(f64::from(*self))
    }
}

impl Value for bool {
    const ACCEPTS: &'static str = "on or off";
    const UNIT: &'static str = "on|off";
    fn parse(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "on" | "true" | "yes" | "1" => Ok(true),
            "off" | "false" | "no" | "0" => Ok(false),
            _ => Err(BadValue::new(Self::ACCEPTS)),
        }
    }
    fn show(&self) -> String {
        if *self { "on" } else { "off" }.to_string()
    }
}

impl Value for Span {
    const ACCEPTS: &'static str = "a time such as 20ms";
    const UNIT: &'static str = "s";
    const RANGE_IN: Option<&'static str> = Some("s");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::span(text)
    }
    fn show(&self) -> String {
        text::show_span(*self)
    }
    fn number(&self) -> Option<f64> {
        Some(self.secs())
    }
}

impl Value for Depth {
    const ACCEPTS: &'static str = "a queue depth such as 50p (packets) or 80kb";
    const UNIT: &'static str = "packets|bytes";
    const RANGE_IN: Option<&'static str> = Some("packets or bytes");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::depth(text)
    }
    fn show(&self) -> String {
        text::show_depth(*self)
    }
    fn number(&self) -> Option<f64> {
        Some(self.value())
    }
}

impl Value for Limit {
    const ACCEPTS: &'static str = "a buffer size such as 100p (packets) or 160kb";
    const UNIT: &'static str = "packets|bytes";
    const RANGE_IN: Option<&'static str> = Some("packets or bytes");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::limit(text)
    }
    fn show(&self) -> String {
        text::show_limit(*self)
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Packets(n) => Some(f64::from(*n)),
            Self::Bytes(n) => Some(*n as f64),
        }
    }
}

impl Value for Bytes {
    const ACCEPTS: &'static str = "a size such as 1500b or 160kb";
    const UNIT: &'static str = "bytes";
    const RANGE_IN: Option<&'static str> = Some("bytes");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::bytes(text)
    }
    fn show(&self) -> String {
        format!("{}b", self.0)
    }
    fn number(&self) -> Option<f64> {
        Some(self.0 as f64)
    }
}

impl Value for Rate {
    const ACCEPTS: &'static str = "a rate such as 15mbit";
    const UNIT: &'static str = "bit/s";
    const RANGE_IN: Option<&'static str> = Some("bit/s");
    fn parse(text: &str) -> Result<Self, BadValue> {
        text::rate(text)
    }
    fn show(&self) -> String {
        text::show_rate(*self)
    }
    fn number(&self) -> Option<f64> {
        Some(self.0 as f64)
    }
}

/// A value that the user gives. Otherwise the discipline determines it, for example from the link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Auto<T> {
    /// Computed by the discipline.
    Auto,
    /// Given by the user.
    Given(T),
}

impl<T: Copy> Auto<T> {
    /// The given value, or `otherwise`.
    pub fn or(self, otherwise: T) -> T {
        match self {
            Self::Auto => otherwise,
            Self::Given(value) => value,
        }
    }
}

impl<T: Value> Value for Auto<T> {
    const ACCEPTS: &'static str = T::ACCEPTS;
    const UNIT: &'static str = T::UNIT;
    const INSTEAD: Option<&'static str> = Some("auto");
    const RANGE_IN: Option<&'static str> = T::RANGE_IN;
    fn parse(text: &str) -> Result<Self, BadValue> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        T::parse(text).map(Self::Given).map_err(|e| BadValue { accepts: format!("auto, or {}", e.accepts).into(), ..e })
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_string(),
            Self::Given(value) => value.show(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::Given(value) => value.number(),
        }
    }
    fn within(&self, range: (f64, f64)) -> bool {
        match self {
            Self::Auto => true,
            Self::Given(value) => value.within(range),
        }
    }
}

/// An optional value; `off` disables the feature.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Off<T> {
    /// Disabled.
    Off,
    /// Enabled with this value.
    At(T),
}

impl<T: Value> Value for Off<T> {
    const ACCEPTS: &'static str = T::ACCEPTS;
    const UNIT: &'static str = T::UNIT;
    const INSTEAD: Option<&'static str> = Some("off");
    const RANGE_IN: Option<&'static str> = T::RANGE_IN;
    fn parse(text: &str) -> Result<Self, BadValue> {
        if text.trim() == "off" {
            return Ok(Self::Off);
        }
        T::parse(text).map(Self::At).map_err(|e| BadValue { accepts: format!("off, or {}", e.accepts).into(), ..e })
    }
    fn show(&self) -> String {
        match self {
            Self::Off => "off".to_string(),
            Self::At(value) => value.show(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::At(value) => value.number(),
        }
    }
    fn within(&self, range: (f64, f64)) -> bool {
        match self {
            Self::Off => true,
            Self::At(value) => value.within(range),
        }
    }
}

/// Largest number of classes of a per-class parameter.
pub const MAX_CLASSES: usize = 32;

/// One number per class, written `0.04/0.08/0.12`; a single number applies to all classes.
#[derive(Clone, Copy, Debug)]
pub struct PerClass {
    values: [f64; MAX_CLASSES],
    len: u8,
}

impl PartialEq for PerClass {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

impl PerClass {
    /// One value for all classes.
    pub const fn all(value: f64) -> Self {
        Self { values: [value; MAX_CLASSES], len: 1 }
    }

    /// The value of `class`. Classes beyond the end of the list start again with its first value.
    #[inline]
    pub fn of(&self, class: u8) -> f64 {
        self.values[usize::from(class) % usize::from(self.len)]
    }

    /// The numbers as the user gave them: a single one for all classes, or one per class.
    pub fn values(&self) -> &[f64] {
        &self.values[..usize::from(self.len)]
    }
}

impl Value for PerClass {
    const ACCEPTS: &'static str = "one number for all classes, or up to 32 as a/b/c";
    const UNIT: &'static str = "1";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(Self::ACCEPTS);
        let mut out = Self::all(0.0);
        out.len = 0;
        for part in text.split('/') {
            let slot = out.values.get_mut(usize::from(out.len)).ok_or_else(bad)?;
            *slot = text::number(part).map_err(|_| bad())?;
            out.len += 1;
        }
        Ok(out)
    }
    fn show(&self) -> String {
        let mut out = String::new();
        for (i, value) in self.values().iter().enumerate() {
            out.push_str(if i > 0 { "/" } else { "" });
            out.push_str(&value.to_string());
        }
        out
    }

    fn within(&self, range: (f64, f64)) -> bool {
        self.values().iter().all(|n| (range.0..=range.1).contains(n))
    }
}

/// Declares an enum of keywords as a parameter type.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $( $(#[doc = $doc:expr])+ $variant:ident = $word:literal ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $( $(#[doc = $doc])+ $variant ),* }

        impl $crate::base::params::Value for $name {
            const ACCEPTS: &'static str = $crate::choice!(@list $($word),*);
            const UNIT: &'static str = $crate::choice!(@bars $($word),*);
            fn parse(text: &str) -> Result<Self, $crate::base::text::BadValue> {
                match text.trim() {
                    $( $word => Ok(Self::$variant), )*
                    other => {
                        let bad = $crate::base::text::BadValue::new(Self::ACCEPTS);
                        Err(match $crate::base::nearest::nearest(other, [$($word),*]) {
                            Some(near) => bad.hint($crate::alloc::format!("did you mean {near}?")),
                            None => bad,
                        })
                    }
                }
            }
            fn show(&self) -> $crate::alloc::string::String {
                match self { $( Self::$variant => $word ),* }.into()
            }
        }
    };
    (@list $first:literal $(, $rest:literal)*) => { concat!("one of ", $first $(, ", ", $rest)*) };
    (@bars $first:literal $(, $rest:literal)*) => { concat!($first $(, "|", $rest)*) };
}

/// The description of one parameter.
#[derive(Clone, Copy)]
pub struct ParamSpec {
    /// The key in `key=value`.
    pub name: &'static str,
    /// The symbol in the paper, RFC or program that defines the parameter; empty if there is none.
    pub symbol: &'static str,
    /// Unit, or the accepted keywords separated by `|`.
    pub unit: &'static str,
    /// What the parameter does.
    pub doc: &'static str,
    /// Origin of the default or the rule, such as a section of a paper or RFC, or a program.
    pub source: &'static str,
    /// Smallest and largest value, in base units.
    pub range: (f64, f64),
    /// Description of accepted text; [`accepted`](Self::accepted) adds keyword and range.
    pub accepts: &'static str,
    /// A keyword accepted instead of a value.
    pub instead: Option<&'static str>,
    /// The unit of the range; `None` if there is no range.
    pub range_in: Option<&'static str>,
    /// The default in canonical form.
    pub default: fn() -> String,
}

impl core::fmt::Debug for ParamSpec {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ParamSpec")
            .field("name", &self.name)
            .field("default", &(self.default)())
            .finish_non_exhaustive()
    }
}

/// An error in setting a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// The key, as written.
    pub key: String,
    /// The value, as written.
    pub found: String,
    /// Description of accepted text. The message prints it after "expected ".
    pub accepts: Cow<'static, str>,
    /// A hint on how to correct it, such as the nearest name or another unit.
    pub hint: Option<String>,
}

impl core::fmt::Display for ParamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: found '{}', expected {}", self.key, self.found, self.accepts)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// A parameter struct made by [`params!`](crate::params!).
pub trait ParamSet: Default + Clone {
    /// Every parameter, in order of declaration.
    const SPECS: &'static [ParamSpec];

    /// Sets one parameter from text; `None` if the key is unknown.
    fn set(&mut self, key: &str, text: &str) -> Option<Result<(), ParamError>>;

    /// The value of one parameter in canonical form; `None` if the key is unknown.
    fn get(&self, key: &str) -> Option<String>;
}

/// The key of a field: its name without `r#`, as in `r#in`.
pub const fn plain(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', rest @ ..] => match core::str::from_utf8(rest) {
            Ok(name) => name,
            Err(_) => field,
        },
        _ => field,
    }
}

impl ParamSpec {
    /// Keyword, accepted values and range in one text, such as `auto, or a time such as 20ms, from 0.001 to 1000 s`.
    pub fn accepted(&self) -> String {
        phrase(self.instead, self.accepts, self.range_in.map(|unit| (self.range, unit)))
    }

    /// The accepted keywords, if only keywords are accepted.
    pub fn words(&self) -> Option<impl Iterator<Item = &'static str>> {
        let words = self.unit.contains('|') && self.range_in.is_none();
        words.then(|| self.unit.split('|'))
    }
}

/// Parses `text` as a `T` within `range`. Used by every generated `set`.
pub fn read<T: Value>(key: &str, text: &str, range: (f64, f64)) -> Result<T, ParamError> {
    let fail = |accepts, hint| ParamError { key: key.to_string(), found: text.to_string(), accepts, hint };
    let value = T::parse(text).map_err(|e| fail(e.accepts, e.hint))?;
    if value.within(range) {
        return Ok(value);
    }
    Err(fail(phrase(T::INSTEAD, T::ACCEPTS, T::RANGE_IN.map(|unit| (range, unit))).into(), None))
}

/// Declares a parameter struct: meaning, type, default, range, symbol and source of each field.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident { $(
        $(#[doc = $doc:expr])+
        $field:ident : $ty:ty = $default:expr, in $lo:literal ..= $hi:literal, $symbol:literal, $source:literal;
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $ty ),* }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default ),* }
            }
        }

        impl $crate::base::params::ParamSet for $name {
            const SPECS: &'static [$crate::base::params::ParamSpec] = &[ $(
                $crate::base::params::ParamSpec {
                    name: $crate::base::params::plain(stringify!($field)),
                    symbol: $symbol,
                    unit: <$ty as $crate::base::params::Value>::UNIT,
                    doc: concat!($($doc),+),
                    source: $source,
                    range: ($lo, $hi),
                    accepts: <$ty as $crate::base::params::Value>::ACCEPTS,
                    instead: <$ty as $crate::base::params::Value>::INSTEAD,
                    range_in: <$ty as $crate::base::params::Value>::RANGE_IN,
                    default: || <$ty as $crate::base::params::Value>::show(&Self::default().$field),
                }
            ),* ];

            #[allow(unused_variables)]
            fn set(&mut self, key: &str, text: &str) -> Option<Result<(), $crate::base::params::ParamError>> {
                $( if key == $crate::base::params::plain(stringify!($field)) {
                    return Some($crate::base::params::read(key, text, ($lo, $hi)).map(|v| self.$field = v));
                } )*
                None
            }

            #[allow(unused_variables)]
            fn get(&self, key: &str) -> Option<$crate::alloc::string::String> {
                $( if key == $crate::base::params::plain(stringify!($field)) {
                    return Some($crate::base::params::Value::show(&self.$field));
                } )*
                None
            }
        }
    };
}
