//! `forebay.Table`: columns of results, exported to Arrow without a copy and to numpy arrays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use forebay_lab::disk;
use forebay_lab::table::{Column as Values, Table as Found};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use crate::errors;

/// Named columns of equal length.
#[pyclass(frozen, module = "forebay._native")]
pub struct Table {
    found: Found,
    batch: RecordBatch,
}

fn fault(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Table {
    pub(crate) fn new(found: Found) -> PyResult<Self> {
        let columns = found.columns().map(|(name, values)| {
            let array: ArrayRef = match values {
                Values::Number(values) => Arc::new(PrimitiveArray::<Float64Type>::from(values.clone())),
                Values::Count(values) => Arc::new(PrimitiveArray::<Int64Type>::from(values.clone())),
                Values::Words(values) => Arc::new(StringArray::from(values.clone())),
            };
            (Field::new(name, array.data_type().clone(), true), array)
        });
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(fault)?;
        Ok(Self { found, batch })
    }
}

/// A pickled column: name; kind (`number`, `count` or `words`); values as little-endian bytes (for words: indices
/// into the list); one byte per row, 1 where there is a value; list of words.
type Part<'py> = (String, &'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<String>);

/// A column read from a pickle, with the parts of [`Part`].
type Kept = (String, String, PyBackedBytes, PyBackedBytes, Vec<String>);

fn part<'py>(py: Python<'py>, name: &str, values: &Values) -> Part<'py> {
    fn bytes<T: Copy>(values: &[Option<T>], write: impl Fn(Option<T>) -> [u8; 8]) -> (Vec<u8>, Vec<u8>) {
        (
            values.iter().flat_map(|value| write(*value)).collect(),
            values.iter().map(|v| u8::from(v.is_some())).collect(),
        )
    }
    let (kind, (values, there), words) = py.detach(|| match values {
        Values::Number(values) => ("number", bytes(values, |v| v.unwrap_or_default().to_le_bytes()), Vec::new()),
        Values::Count(values) => ("count", bytes(values, |v| v.unwrap_or_default().to_le_bytes()), Vec::new()),
        Values::Words(values) => {
            let (mut places, mut words) = (BTreeMap::<&str, u64>::new(), Vec::new());
            let rows = values.iter().map(Option::as_deref).map(|word| {
                Some(*places.entry(word?).or_insert_with_key(|word| {
                    words.push((*word).to_string());
                    words.len() as u64 - 1
                }))
            });
            let rows: Vec<Option<u64>> = rows.collect();
            ("words", bytes(&rows, |v| v.unwrap_or_default().to_le_bytes()), words)
        }
    });
    (name.to_string(), kind, PyBytes::new(py, &values), PyBytes::new(py, &there), words)
}

/// The values of a pickled column; `None` if invalid.
fn values(kind: &str, values: &[u8], there: &[u8], words: &[String]) -> Option<Values> {
    fn read<T>(values: &[u8], there: &[u8], read: impl Fn([u8; 8]) -> Option<T>) -> Option<Vec<Option<T>>> {
        let rows = values.chunks_exact(8).zip(there);
        rows.map(|(value, there)| match there {
            0 => Some(None),
            _ => read(value.try_into().ok()?).map(Some),
        })
        .collect()
    }
    if values.len() != there.len().checked_mul(8)? {
        return None;
    }
    let word = |place: [u8; 8]| words.get(usize::try_from(u64::from_le_bytes(place)).ok()?).cloned();
    match kind {
        "number" => read(values, there, |v| Some(f64::from_le_bytes(v))).map(Values::Number),
        "count" => read(values, there, |v| Some(i64::from_le_bytes(v))).map(Values::Count),
        "words" => read(values, there, word).map(Values::Words),
        _ => None,
    }
}

#[pymethods]
impl Table {
    /// A table from its pickled columns.
    #[new]
    fn from_parts(py: Python<'_>, columns: Vec<Kept>) -> PyResult<Self> {
        let column = |(name, kind, bytes, there, words): &Kept| {
            let bad = || PyValueError::new_err(format!("not a pickled Table: column {name:?}"));
            Ok((name.clone(), values(kind, bytes, there, words).ok_or_else(bad)?))
        };
        let found = py.detach(|| columns.iter().map(column).collect::<PyResult<Found>>())?;
        Self::new(found)
    }

    /// The class and the columns, for pickling.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Vec<Part<'py>>,)) {
        let columns = slf.get().found.columns().map(|(name, values)| part(slf.py(), name, values)).collect();
        (slf.get_type().into_any(), (columns,))
    }

    /// The column names.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column as a numpy array: numbers as float64, counts as int64 (float64 with NaN if values are missing),
    /// words as objects. Numeric columns without gaps are read-only views of the table's memory.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self
            .batch
            .column_by_name(name)
            .ok_or_else(|| PyKeyError::new_err(format!("no '{name}'; there are {}", self.column_names().join(", "))))?;
        let numpy = py.import("numpy")?;
        if let Some(words) = column.as_any().downcast_ref::<StringArray>() {
            let list = PyList::new(py, words.iter())?;
            return numpy.call_method1("array", (list, "O"));
        }
        if column.null_count() == 0 {
            return numpy.call_method1("asarray", (Column { values: column.clone() },));
        }
        let list: Vec<f64> = if let Some(numbers) = column.as_any().downcast_ref::<PrimitiveArray<Float64Type>>() {
            numbers.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
        } else if let Some(counts) = column.as_any().downcast_ref::<PrimitiveArray<Int64Type>>() {
            counts.iter().map(|value| value.map_or(f64::NAN, |value| value as f64)).collect()
        } else {
            Vec::new()
        };
        Ok(numpy::PyArray1::from_vec(py, list).into_any())
    }

    /// All columns by name, as numpy arrays.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.column_names() {
            all.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(all)
    }

    /// Writes the table as a Parquet file.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let bytes = self.found.to_parquet().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            disk::write_whole(&path, &bytes).map_err(|error| errors::store(&error))
        })
    }

    /// The Arrow PyCapsule interface: `polars.from_arrow(table)`, `pyarrow.table(table)`,
    /// `pandas.DataFrame.from_arrow(table)`. Ignores `requested_schema`, as the interface allows: the types are those of
    /// the columns, and the consumer casts them.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.num_rows(), self.column_names().join(", "))
    }
}

/// A numeric column, shared with numpy without a copy.
#[pyclass(frozen, module = "forebay._native")]
pub struct Column {
    values: ArrayRef,
}

fn at<T: ArrowPrimitiveType>(values: &ArrayRef) -> Option<usize> {
    let array = values.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    Some(array.values().as_ptr() as usize)
}

#[pymethods]
impl Column {
    /// numpy's array interface; the resulting array keeps this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let numbers = at::<Float64Type>(&self.values).map(|place| (place, "<f8"));
        let found = numbers.or_else(|| at::<Int64Type>(&self.values).map(|place| (place, "<i8")));
        let (place, kind) = found.ok_or_else(|| PyRuntimeError::new_err("not a numeric column"))?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.values.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (place, true))?;
        Ok(interface)
    }
}
