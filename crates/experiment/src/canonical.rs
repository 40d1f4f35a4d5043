//! Canonical JSON text of a scenario: sorted keys, no spaces.

use crate::build::OptionSets;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::{Display, Write};
use std::ops::Range;
use std::rc::Rc;

/// Numbers that Python writes without an exponent, as we do.
const PLAIN: Range<f64> = 1e-4..1e16;
/// Field of a scenario without effect on results.
const NAME: &str = "name";

/// Canonical JSON text of a scenario whose hosts lack their options, and the SHA-256 of this text without
/// the scenario's name, from which ids of runs are made.
///
/// The hash is `None` if Python's text, which is hashed, writes a number with an exponent: its form
/// differs from ours.
pub(crate) fn canonical(scenario: &Value, options: &OptionSets) -> (String, Option<[u8; 32]>) {
    let mut writer = Writer::default();
    let mut name = 0..0;
    match scenario {
        Value::Object(fields) => writer.scenario(fields, options, &mut name),
        other => writer.value(other),
    }
    let text = writer.text;
    let mut hash = Sha256::new();
    // A field leaves with the comma behind it, the last one with that before it.
    let end = name.end + usize::from(text[name.end..].starts_with(','));
    let begin = name.start - usize::from(end == name.end && text[..name.start].ends_with(','));
    hash.update(&text[..begin]);
    hash.update(&text[end..]);
    let hash = (!writer.exponent).then(|| hash.finalize().into());
    (text, hash)
}

#[derive(Default)]
struct Writer {
    text: String,
    /// Python writes a number with an exponent.
    exponent: bool,
}

impl Writer {
    /// Writes a scenario with the options of its hosts. `name`: place of its name.
    fn scenario(
        &mut self,
        fields: &Map<String, Value>,
        options: &OptionSets,
        name: &mut Range<usize>,
    ) {
        let texts = options.of_each_node(|set| {
            let mut writer = Self::default();
            writer.fields(set);
            self.exponent |= writer.exponent;
            Rc::<str>::from(writer.text)
        });
        self.sorted(fields, |writer, field, value, begin| {
            match (field, value) {
                ("nodes", Value::Array(nodes)) => {
                    writer.items(nodes.iter().enumerate(), |writer, (number, node)| {
                        let options = texts.get(number).and_then(Option::as_ref);
                        writer.node(node, options.map(AsRef::as_ref));
                    });
                }
                _ => writer.value(value),
            }
            if field == NAME {
                *name = begin..writer.text.len();
            }
        });
    }

    /// Writes a node; `options`: text of its options, if it is a host.
    fn node(&mut self, node: &Value, options: Option<&str>) {
        match (node, options) {
            (Value::Object(fields), Some(options)) => {
                self.sorted(fields, |writer, field, value, _| match field {
                    "tcp" => writer.text.push_str(options),
                    _ => writer.value(value),
                });
            }
            _ => self.value(node),
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => self.fields(fields),
            Value::Array(items) => self.items(items.iter(), Self::value),
            Value::String(text) => self.string(text),
            Value::Number(number) => {
                let float = number.as_f64().filter(|_| number.is_f64()).unwrap_or(0.0);
                self.exponent |= float != 0.0 && !PLAIN.contains(&float.abs());
                self.scalar(number);
            }
            Value::Bool(true) => self.text.push_str("true"),
            Value::Bool(false) => self.text.push_str("false"),
            Value::Null => self.text.push_str("null"),
        }
    }

    fn items<T>(&mut self, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.text.push('[');
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            write(self, item);
        }
        self.text.push(']');
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        self.sorted(fields, |writer, _, value, _| writer.value(value));
    }

    /// Writes a mapping. `write` gets name and value of each field, and where the field begins.
    fn sorted(
        &mut self,
        fields: &Map<String, Value>,
        mut write: impl FnMut(&mut Self, &str, &Value, usize),
    ) {
        let mut sorted: Vec<_> = fields.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| name.as_str());
        self.text.push('{');
        for (i, (name, value)) in sorted.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            let begin = self.text.len();
            self.string(name);
            self.text.push(':');
            write(self, name, value, begin);
        }
        self.text.push('}');
    }

    fn string(&mut self, text: &str) {
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            return self.scalar(Value::from(text));
        }
        self.text.push('"');
        self.text.push_str(text);
        self.text.push('"');
    }

    fn scalar(&mut self, value: impl Display) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({
            "b": [{"z": 1.5, "a\n\u{7f}\u{1}\\": null}, -3, 1e-9, 1e20, u64::MAX, false],
            "a": {"d": "é\"", "c": true, "": []},
        });
        let mut sorted = value.clone();
        sorted.sort_all_objects();
        assert_eq!(canonical(&value, &OptionSets::default()).0, sorted.to_string());
        assert!(canonical(&value, &OptionSets::default())
            .0
            .starts_with("{\"a\":{\"\":[],\"c\":true"));
    }

    #[test]
    fn the_name_does_not_count() {
        let of = |text: &str| Some(<[u8; 32]>::from(Sha256::digest(text)));
        let hash = |value: Value| canonical(&value, &OptionSets::default()).1;
        assert_eq!(hash(json!({"name": "a", "loss": 0.5})), of("{\"loss\":0.5}"));
        assert_eq!(hash(json!({"name": "a", "z": {"name": 1}})), of("{\"z\":{\"name\":1}}"));
        assert_eq!(hash(json!({"z": 1, "name": "a", "b": 2})), of("{\"b\":2,\"z\":1}"));
        assert_eq!(hash(json!({"name": "a"})), of("{}"));
        assert_eq!(hash(json!({"b": ","})), of("{\"b\":\",\"}"));
        for (loss, text) in [(1e-4, "0.0001"), (-0.0, "-0.0"), (9e15, "9000000000000000.0")] {
            assert_eq!(hash(json!({"loss": loss})), of(&format!("{{\"loss\":{text}}}")));
        }
        for loss in [1e-9, -5e-5, 9.9e-5, 1e16] {
            assert_eq!(hash(json!({"loss": loss})), None);
        }
    }
}
