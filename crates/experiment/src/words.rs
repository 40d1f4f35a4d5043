//! Values in messages.

use serde_json::Value;

/// Text for a message: at most 60 characters, on one line.
pub(crate) fn shortened(text: &str) -> String {
    crate::near::shortened(text, 60)
}

/// A value as messages show it: text as it is, lists and mappings as Python writes them.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text),
        other => shortened(&literal(other)),
    }
}

pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Value::String(text) => format!("'{}'", text.replace('\'', "\\'")),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let one = |(key, value): (&String, &Value)| format!("'{key}': {}", literal(value));
            format!("{{{}}}", map.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}
