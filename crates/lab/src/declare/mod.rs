//! Declarations of the tables of scenario files. One declaration gives the struct, its defaults, its reader, the writer
//! of its canonical text, and its JSON Schema, from which the reference page `docs/scenario.md` is made.

mod cursor;
mod form;
pub(crate) mod schema;
mod values;

use forebay_sim::network::Lane;
use serde_json::Value as Json;

use crate::document::Text;
use crate::input::InputError;

pub(crate) use cursor::{Form, Parsed, Setting, Table, is_plain, name, one_of, quantity, text};
pub(crate) use form::{
    Custom, Flag, Number, Quantities, Quantity, Section, Sections, Whole, WholeOr, Words, section, sections,
    whole_number,
};
pub use values::Uniform;
pub(crate) use values::{
    AQM, BUFFER, DURATION, LINK_RATE, NAME, PER_SECOND, RATE, STATE_TIME, TIME, TIMES, WINDOWS, duration, link_rate,
    range, reference, run_time, time,
};

/// Keys that are read and written together: all keys of a table, or keys that several tables have in common.
pub(crate) trait Keys: Sized {
    /// The keys, in the order of messages and of the schema.
    fn keys() -> Vec<Key>;
    /// Reads the keys from `table`.
    fn read(table: &Table<'_>) -> Result<Self, InputError>;
    /// Writes the keys in canonical form.
    fn write(&self, out: &mut Text);
}

/// A key of a table.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) is_needed: bool,
    pub(crate) schema: fn() -> Json,
    pub(crate) doc: &'static str,
}

/// A key that must be in the table.
pub(crate) const fn need(name: &'static str, schema: fn() -> Json, doc: &'static str) -> Key {
    Key { name, is_needed: true, schema, doc }
}

/// A key that may be missing.
pub(crate) const fn may(name: &'static str, schema: fn() -> Json, doc: &'static str) -> Key {
    Key { name, is_needed: false, schema, doc }
}

/// One of several tables that the key `kind` selects.
#[derive(Clone)]
pub(crate) struct Kind {
    /// Value of `kind`.
    pub(crate) word: &'static str,
    /// Description in the schema and the scenario reference.
    pub(crate) doc: &'static str,
    /// Its keys except `kind`.
    pub(crate) keys: Vec<Key>,
}

impl Kind {
    /// Its JSON Schema.
    pub(crate) fn schema(&self) -> Json {
        schema::table(self.doc, Some(self.word), &self.keys)
    }
}

/// The names of `keys`.
pub(crate) fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// JSON Schema of a table with exactly the keys of `T`.
pub(crate) fn table_of<T: Keys>(doc: &str) -> Json {
    schema::table(doc, None, &T::keys())
}

/// The keys and their values as an inline TOML table.
pub(crate) fn inline<T: Keys>(keys: &T) -> String {
    let mut out = Text::default();
    keys.write(&mut out);
    out.inline()
}

/// Declares a table, or [`Keys`] that several tables share. Each row is a key, in the order of messages, schema and
/// canonical text:
///
/// ```text
/// key: Type = FORM;                     required
/// key: Type = FORM, or DEFAULT;         optional with a default
/// key: Type = FORM, or_else |table| ..; optional with a default that depends on the table
/// key: Type = FORM, or_like |link| ..;  default from the link `Setting::like` (for a reverse direction the forward
///                                       direction), required if there is none
/// key: Option<Type> = FORM, optional;   `None` if missing, and then not written
/// field as "key": ...                   the key differs from the field
/// ..field: Type;                        the keys of another declaration
/// + KEY;                                a `Key` that another row or the function `finish` reads
/// - field: Type = reader;               read by a function from the table, written elsewhere
/// ```
///
/// A row that ends with `=> |it| condition` is written only if the condition holds. `finish` checks
/// combinations of keys. `table! { impl Type [..BASE] { .. } }` declares the keys of a struct of another
/// crate.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $Name:ident { $($rows:tt)* }
        $(finish $finish:expr;)?
    ) => {
        table! { @rows [$Name table out self] [new $vis, $(#[doc = $doc])+] [$($finish)?] {} {} {} {} $($rows)* }
        impl $Name {
            /// Description in the schema.
            #[allow(dead_code)]
            pub(crate) const DOC: &'static str = concat!($($doc),+);
        }
    };
    (
        impl $Name:ident $([..$base:expr])? { $($rows:tt)* }
        $(finish $finish:expr;)?
    ) => {
        table! { @rows [$Name table out self] [old $(..$base)?] [$($finish)?] {} {} {} {} $($rows)* }
    };

    (@rows $all:tt $new:tt $finish:tt {$($f:tt)*} {$($k:tt)*} {$($r:tt)*} {$($w:tt)*} + $key:expr; $($rest:tt)*) => {
        table! { @plus $all $new $finish {$($f)*} {$($k)*} {$($r)*} {$($w)*} [$key] $($rest)* }
    };
    (@plus [$Name:ident $t:ident $out:ident $me:ident] $new:tt $finish:tt {$($f:tt)*} {$($k:tt)*} {$($r:tt)*} {$($w:tt)*} [$key:expr] $($rest:tt)*) => {
        table! { @rows [$Name $t $out $me] $new $finish {$($f)*} {$($k)* [vec![$key]]} {$($r)*} {$($w)*} $($rest)* }
    };
    (@rows [$Name:ident $t:ident $out:ident $me:ident] $new:tt $finish:tt {$($f:tt)*} {$($k:tt)*} {$($r:tt)*} {$($w:tt)*}
        $(#[doc = $doc:literal])* .. $field:ident : $Ty:ty $(=> $when:expr)?; $($rest:tt)*) => {
        table! { @rows [$Name $t $out $me] $new $finish
            {$($f)* $(#[doc = $doc])* pub $field: $Ty,}
            {$($k)* [<$Ty as $crate::declare::Keys>::keys()]}
            {$($r)* $field: <$Ty as $crate::declare::Keys>::read($t)?,}
            {$($w)* if table!(@when $me $($when)?) { $crate::declare::Keys::write(&$me.$field, $out); }}
            $($rest)* }
    };
    (@rows [$Name:ident $t:ident $out:ident $me:ident] $new:tt $finish:tt {$($f:tt)*} {$($k:tt)*} {$($r:tt)*} {$($w:tt)*}
        $(#[doc = $doc:literal])* - $field:ident : $Ty:ty = $read:expr; $($rest:tt)*) => {
        table! { @rows [$Name $t $out $me] $new $finish
            {$($f)* $(#[doc = $doc])* pub $field: $Ty,} {$($k)*} {$($r)* $field: $read($t)?,} {$($w)*} $($rest)* }
    };
    (@rows $all:tt $new:tt $finish:tt $f:tt $k:tt $r:tt $w:tt
        $(#[doc = $doc:literal])+ $field:ident : $($rest:tt)*) => {
        table! { @key $all $new $finish $f $k $r $w [$($doc)+] $field [stringify!($field)] $($rest)* }
    };
    (@rows $all:tt $new:tt $finish:tt $f:tt $k:tt $r:tt $w:tt
        $(#[doc = $doc:literal])+ $field:ident as $key:literal : $($rest:tt)*) => {
        table! { @key $all $new $finish $f $k $r $w [$($doc)+] $field [$key] $($rest)* }
    };
    (@key [$Name:ident $t:ident $out:ident $me:ident] $new:tt $finish:tt {$($f:tt)*} {$($k:tt)*} {$($r:tt)*} {$($w:tt)*}
        [$($doc:literal)+] $field:ident [$key:expr] $Ty:ty = $form:expr $(, $how:ident $($arg:expr)?)? $(=> $when:expr)?; $($rest:tt)*) => {
        table! { @rows [$Name $t $out $me] $new $finish
            {$($f)* $(#[doc = $doc])+ pub $field: $Ty,}
            {$($k)* [vec![$crate::declare::Key {
                name: $key,
                is_needed: table!(@needed $($how)?),
                schema: || $crate::declare::Form::schema(&$form),
                doc: concat!($($doc),+),
            }]]}
            {$($r)* $field: table!(@read $t $key, $form, $($how $($arg)?)?),}
            {$($w)* if table!(@when $me $($when)?) { table!(@write $out $key, $form, (&$me.$field) $($how)?); }}
            $($rest)* }
    };

    (@rows [$Name:ident $t:ident $out:ident $me:ident] [$($new:tt)+] [$($finish:expr)?] {$($f:tt)*} {$([$k:expr])*} {$($r:tt)*} {$($w:tt)*}) => {
        table! { @struct $($new)+ , $Name {$($f)*} }
        impl $crate::declare::Keys for $Name {
            fn keys() -> Vec<$crate::declare::Key> {
                [$($k),*].concat()
            }
            fn read($t: &$crate::declare::Table<'_>) -> Result<Self, $crate::input::InputError> {
                let read = table!(@value $($new)+ , {$($r)*});
                $( let read = $finish(read, $t)?; )?
                Ok(read)
            }
            fn write(&$me, $out: &mut $crate::document::Text) {
                $($w)*
            }
        }
    };
    (@struct new $vis:vis, $(#[doc = $doc:literal])+ , $Name:ident {$($f:tt)*}) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $Name { $($f)* }
    };
    (@struct old $(..$base:expr)? , $Name:ident $f:tt) => {};
    (@value new $vis:vis, $(#[doc = $doc:literal])+ , {$($r:tt)*}) => { Self { $($r)* } };
    (@value old , {$($r:tt)*}) => { Self { $($r)* } };
    (@value old ..$base:expr, {$($r:tt)*}) => { Self { $($r)* ..$base } };

    (@when $me:ident) => { true };
    (@when $me:ident $when:expr) => { $crate::declare::holds($me, $when) };
    (@needed) => { true };
    (@needed or_like) => { true };
    (@needed $how:ident) => { false };
    (@read $t:ident $key:expr, $form:expr, ) => { $t.needed($key, &$form)? };
    (@read $t:ident $key:expr, $form:expr, optional) => { $t.given($key, &$form)? };
    (@read $t:ident $key:expr, $form:expr, or $default:expr) => { $t.given($key, &$form)?.unwrap_or($default) };
    (@read $t:ident $key:expr, $form:expr, or_like $figure:expr) => {
        $crate::declare::of_like($t, $key, &$form, $figure)?
    };
    (@read $t:ident $key:expr, $form:expr, or_else $default:expr) => {
        match $t.given($key, &$form)? {
            Some(value) => value,
            None => $crate::declare::of_table($t, $default)?,
        }
    };
    (@write $out:ident $key:expr, $form:expr, ($value:expr) optional) => {
        if let Some(value) = $value {
            $crate::declare::Form::write(&$form, $out, $key, value);
        }
    };
    (@write $out:ident $key:expr, $form:expr, ($value:expr) $($how:ident)?) => {
        $crate::declare::Form::write(&$form, $out, $key, $value)
    };
}
pub(crate) use table;

/// Calls the condition of a row of `table!`. It exists for type inference: the closure gets the type of its argument.
pub(crate) fn holds<T>(it: &T, condition: impl Fn(&T) -> bool) -> bool {
    condition(it)
}

/// Calls the function of a row of `table!` that computes a default from the table. It exists for type inference, like
/// [`holds`].
pub(crate) fn of_table<T>(
    table: &Table<'_>,
    default: impl Fn(&Table<'_>) -> Result<T, InputError>,
) -> Result<T, InputError> {
    default(table)
}

/// The value of `key` if given, else that of the link [`Setting::like`], whose values are the defaults. It is an error
/// if there is neither.
pub(crate) fn of_like<F: Form>(
    table: &Table<'_>,
    key: &'static str,
    form: &F,
    figure: impl Fn(&Lane) -> F::Value,
) -> Result<F::Value, InputError> {
    match (table.given(key, form)?, table.setting.like) {
        (Some(value), _) => Ok(value),
        (None, Some(like)) => Ok(figure(like)),
        (None, None) => table.needed(key, form),
    }
}
