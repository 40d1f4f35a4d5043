//! Result tables as Arrow IPC streams (feature `ipc`).

use crate::tables::{Column, Kind, Table};
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::CompressionType;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a batch, about.
const BATCH_ROWS: usize = 1 << 14;
/// Tables with at least as many rows are compressed.
const COMPRESSED_ROWS: usize = 1 << 13;
/// Length of a piece of a stream, about.
const PIECE_BYTES: usize = 1 << 20;

/// An Arrow IPC stream in pieces, so that a large one is never in memory twice.
#[derive(Debug, Default)]
pub struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// Length of all pieces together.
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Returns true if there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all pieces, each of which is freed at once.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_to(self, to: &mut impl Write) -> io::Result<()> {
        self.0.into_iter().try_for_each(|piece| to.write_all(&piece))
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.last_mut() {
            Some(last) if last.len() + bytes.len() <= PIECE_BYTES => last.extend_from_slice(bytes),
            last => {
                if let Some(full) = last {
                    full.shrink_to_fit();
                }
                self.0.push(bytes.to_vec());
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Encodes the table as an Arrow IPC stream. Columns are freed as they are encoded; large tables are
/// compressed (LZ4).
///
/// # Errors
/// If the columns differ in length or type from the specification.
pub fn stream(mut table: Table) -> Result<Pieces, ArrowError> {
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
    let schema = Arc::new(Schema::new(fields));
    let compression = (table.rows() >= COMPRESSED_ROWS).then_some(CompressionType::LZ4_FRAME);
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let mut writer = StreamWriter::try_new_with_options(Pieces::default(), &schema, options)?;
    loop {
        let columns = table.columns.iter_mut().map(batch).collect();
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        if table.rows() == 0 {
            break;
        }
    }
    writer.finish()?;
    writer.into_inner()
}

/// The next values of a column.
fn batch(column: &mut Column) -> ArrayRef {
    match column {
        Column::Int(values) => {
            let mut array = Int64Builder::with_capacity(values.len().min(BATCH_ROWS));
            values.take(BATCH_ROWS, |value| array.append_value(value));
            Arc::new(array.finish())
        }
        Column::Float(values) => {
            let mut array = Float64Builder::with_capacity(values.len().min(BATCH_ROWS));
            values.take(BATCH_ROWS, |value| array.append_value(value));
            Arc::new(array.finish())
        }
        Column::Text(values) => {
            let mut array = StringBuilder::new();
            values.take(BATCH_ROWS, |value| array.append_value(value));
            Arc::new(array.finish())
        }
    }
}
