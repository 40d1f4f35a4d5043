//! Typical pages by name: numbers and sizes of objects, from public counts.
//!
//! `median-2024` has the median sizes per kind of file of desktop home pages, and the median numbers of
//! scripts and images: HTTP Archive, Web Almanac 2024, chapter Page Weight. The numbers were taken from a
//! summary of that chapter and not compared with the chapter itself. The sum of medians is less than the
//! median of the sum (2652 KB). Style and font are one file each, since their numbers of files are no part
//! of this model.
//!
//! `news` has the numbers of objects of a news site of 2013 in the classes of study 2
//! (`studies/web/table-1.csv`: 6 of 100 to 200 KB, 38 of 10 to 99 KB, 133 below 10 KB), all from one
//! server. The sizes inside each class are ours: about 2 MB together.

use serde_json::{json, Map, Value};

/// Object of a typical page: name, number, size, and the object that it waits for.
type Object = (&'static str, Option<u64>, &'static str, Option<&'static str>);

const TYPICAL: &[(&str, &[Object])] = &[
    (
        "median-2024",
        &[
            ("html", None, "18 KB", None),
            ("style", None, "78 KB", Some("html")),
            ("script{i}", Some(24), "26155 bytes", Some("html")),
            ("image{i}", Some(18), "59961 bytes", Some("html")),
            ("font", None, "131 KB", Some("style")),
        ],
    ),
    (
        "news",
        &[
            ("html", None, "28000 bytes", None),
            ("large{i}", Some(6), "120000 bytes", Some("html")),
            ("medium{i}", Some(37), "28000 bytes", Some("html")),
            ("small{i}", Some(133), "1600 bytes", Some("html")),
        ],
    ),
];

/// Names of the typical pages.
pub(crate) fn names() -> Vec<&'static str> {
    TYPICAL.iter().map(|(name, _)| *name).collect()
}

/// Objects of a typical page as a file writes them; none if it is unknown.
pub(crate) fn objects(page: &str) -> Value {
    let found = TYPICAL.iter().find(|(name, _)| *name == page);
    found.map_or_else(|| json!([]), |(_, objects)| objects.iter().map(object).collect())
}

fn object(one: &Object) -> Value {
    let (name, count, size, after) = one;
    let mut fields = Map::new();
    fields.insert("name".to_owned(), (*name).into());
    if let Some(count) = count {
        fields.insert("count".to_owned(), (*count).into());
    }
    fields.insert("size".to_owned(), (*size).into());
    if let Some(after) = after {
        fields.insert("after".to_owned(), (*after).into());
    }
    Value::Object(fields)
}

/// Typical pages as JSON: the objects of each, by name.
pub fn typical_json() -> Value {
    Value::Object(names().into_iter().map(|name| (name.to_owned(), objects(name))).collect())
}
