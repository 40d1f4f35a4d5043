//! Result tables as Arrow IPC streams (feature `ipc`).

use crate::tables::{Column, Kind, Table};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;

/// Encodes the table as one Arrow IPC stream with one batch.
///
/// # Errors
/// If the columns differ in length or type from the specification.
pub fn stream(table: &Table) -> Result<Vec<u8>, ArrowError> {
    let fields: Vec<_> = table
        .spec
        .columns
        .iter()
        .map(|column| {
            let kind = match column.kind {
                Kind::Int => DataType::Int64,
                Kind::Float => DataType::Float64,
                Kind::Text => DataType::Utf8,
            };
            Field::new(column.name, kind, false)
        })
        .collect();
    let columns: Vec<ArrayRef> = table
        .columns
        .iter()
        .map(|column| match column {
            Column::Int(values) => Arc::new(Int64Array::from(values.clone())) as ArrayRef,
            Column::Float(values) => Arc::new(Float64Array::from(values.clone())) as ArrayRef,
            Column::Text(values) => Arc::new(StringArray::from_iter_values(values)) as ArrayRef,
        })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    writer.into_inner()
}
