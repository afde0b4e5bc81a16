//! `forebay.Table`: columns of results, handed out as Arrow without a copy, and as numpy arrays.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{ArrowError, Field, Schema};
use forebay_lab::store;
use forebay_lab::table::{Column as Values, Table as Found};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

use crate::errors;

/// Named columns of equal length.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Table {
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

#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column as a numpy array: numbers as float64 and counts as int64, where a value is missing as float64 with NaN;
    /// words as objects. What has no gaps is a read-only view of the table's own memory.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self
            .batch
            .column_by_name(name)
            .ok_or_else(|| PyKeyError::new_err(format!("'{name}'; there are {}", self.column_names().join(", "))))?;
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

    /// Writes it as a Parquet file.
    fn write_parquet(&self, path: PathBuf) -> PyResult<()> {
        let bytes = self.found.to_parquet().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        store::write_whole(&path, &bytes).map_err(|error| errors::store(&error))
    }

    /// The Arrow PyCapsule interface: `polars.from_arrow(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)`.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let whole: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        let field = Arc::new(Field::new_struct("", self.batch.schema().fields().clone(), false));
        let reader = ArrayIterator::new([Ok(whole)], field);
        Ok(to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.num_rows(), self.column_names().join(", "))
    }
}

/// A column of numbers that numpy looks into.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Column {
    values: ArrayRef,
}

fn at<T: ArrowPrimitiveType>(values: &ArrayRef) -> Option<usize> {
    let array = values.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    Some(array.values().as_ptr() as usize)
}

#[pymethods]
impl Column {
    /// Where the values lie, as numpy's array interface says it; the array that is made of it keeps this alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let numbers = at::<Float64Type>(&self.values).map(|place| (place, "<f8"));
        let found = numbers.or_else(|| at::<Int64Type>(&self.values).map(|place| (place, "<i8")));
        let (place, kind) = found.ok_or_else(|| PyRuntimeError::new_err("no column of numbers"))?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.values.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (place, true))?;
        Ok(interface)
    }
}
