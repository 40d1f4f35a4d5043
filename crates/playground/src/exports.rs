//! Exports of the WebAssembly module: all unsafe code of this crate. A page calls `reserve` for the
//! bytes of a request, writes them, calls `answer`, and reads the answer at the address that it returns:
//! four bytes of length (little-endian), then the text. The module serves one request at a time.
#![allow(unsafe_code)]

use std::cell::RefCell;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a request of so many bytes, and returns its address.
#[no_mangle]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request; returns the address of the answer's length and text.
#[no_mangle]
pub extern "C" fn answer() -> *const u8 {
    let text = REQUEST.with_borrow(|request| crate::answer(&String::from_utf8_lossy(request)));
    ANSWER.with_borrow_mut(|answer| {
        answer.clear();
        answer.extend((text.len() as u32).to_le_bytes());
        answer.extend(text.as_bytes());
        answer.as_ptr()
    })
}
