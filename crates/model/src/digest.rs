//! The digest of a run: SHA-256 over its result tables, column by column. No table holds wall time,
//! host or order of completion, so the digest does not depend on them.

use crate::tables::{Column, Table};
use sha2::{Digest, Sha256};

/// SHA-256 of the tables in the order given, as lower-case hexadecimal.
pub fn digest(tables: &[Table]) -> String {
    let mut hasher = Sha256::new();
    for table in tables {
        hasher.update(table.spec.name.as_bytes());
        for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
            hasher.update(spec.name.as_bytes());
            match column {
                Column::Int(values) => values.each(|v| hasher.update(v.to_le_bytes())),
                Column::Float(values) => {
                    values.each(|v| hasher.update(v.to_bits().to_le_bytes()));
                }
                Column::Text(values) => values.each(|v| {
                    hasher.update((v.len() as u64).to_le_bytes());
                    hasher.update(v.as_bytes());
                }),
            }
        }
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
