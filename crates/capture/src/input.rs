//! Bytes of a file, plain or compressed, with a window that can be looked at.

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, Read};

/// What is read at once.
const CHUNK_BYTES: usize = 1 << 18;
/// Marks at the beginning of compressed files.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory that a stream of xz may ask for, in KiB: that of `xz -9` is 64 MiB.
const XZ_MEMORY_KIB: u32 = 160 << 10;

/// Frames of zstd one after the other (RFC 8878 §3.1), skippable ones left out.
struct Frames<'a> {
    state: Frame<'a>,
}

enum Frame<'a> {
    Between(Input<'a>),
    Within(Box<StreamingDecoder<Input<'a>, FrameDecoder>>),
    Ended,
}

impl Read for Frames<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.state = match std::mem::replace(&mut self.state, Frame::Ended) {
                Frame::Ended => return Ok(0),
                Frame::Within(mut decoder) => {
                    let read = decoder.read(into)?;
                    if read > 0 || into.is_empty() {
                        self.state = Frame::Within(decoder);
                        return Ok(read);
                    }
                    Frame::Between(verified(*decoder)?)
                }
                Frame::Between(mut input) => {
                    let head = input.peek(8)?;
                    match *head {
                        [] => return Ok(0),
                        // The lowest four bits are free.
                        [kind, 0x2a, 0x4d, 0x18, a, b, c, d] if kind >> 4 == 5 => {
                            let length = u32::from_le_bytes([a, b, c, d]);
                            input.skip(8 + u64::from(length))?;
                            Frame::Between(input)
                        }
                        _ => {
                            let decoder = StreamingDecoder::new(input).map_err(io::Error::other)?;
                            Frame::Within(Box::new(decoder))
                        }
                    }
                }
            };
        }
    }
}

/// The rest behind a frame whose content has the checksum that it says, if it says one (RFC 8878
/// §3.1.1); the decoder itself does not compare them.
fn verified<'a>(decoder: StreamingDecoder<Input<'a>, FrameDecoder>) -> io::Result<Input<'a>> {
    let (rest, decoder) = decoder.into_parts();
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(said), Some(found)) if said != found => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("damaged: the zstd checksum is {said:08x}, that of the content {found:08x}"),
        )),
        _ => Ok(rest),
    }
}

/// A stream with its offset.
pub struct Input<'a> {
    source: Box<dyn Read + 'a>,
    /// Read bytes are those from `start` to `end`; what lies behind is room.
    window: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
    /// How it breaks off, behind what is in the window.
    broken: Option<io::Error>,
}

impl<'a> Input<'a> {
    /// Decompresses what begins as gzip, zstd or xz does.
    ///
    /// # Errors
    /// If its beginning cannot be read.
    pub fn open(source: impl Read + 'a) -> io::Result<Self> {
        let mut plain = Self::of(Box::new(source));
        let begin = plain.peek(6)?;
        let (gzip, zstd) = (begin.starts_with(&GZIP), begin.starts_with(&ZSTD));
        let xz = begin.starts_with(&XZ);
        if gzip {
            return Ok(Self::of(Box::new(flate2::read::MultiGzDecoder::new(plain))));
        }
        if zstd {
            return Ok(Self::of(Box::new(Frames { state: Frame::Between(plain) })));
        }
        if xz {
            let decoder = lzma_rust2::XzReader::new_mem_limit(plain, true, XZ_MEMORY_KIB);
            return Ok(Self::of(Box::new(decoder)));
        }
        Ok(plain)
    }

    fn of(source: Box<dyn Read + 'a>) -> Self {
        Self { source, window: Vec::new(), start: 0, end: 0, offset: 0, ended: false, broken: None }
    }

    /// Of the next byte, after decompression.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes, at most so many; fewer at the end. What is asked for is only a bound: memory
    /// grows with what is there.
    #[inline]
    pub(crate) fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        if self.end - self.start < bytes {
            self.fill(bytes)?;
        }
        let there = &self.window[self.start..self.end];
        Ok(&there[..bytes.min(there.len())])
    }

    #[cold]
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        self.window.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < bytes && !self.ended {
            if self.window.len() < self.end + CHUNK_BYTES {
                self.window.resize(self.end + CHUNK_BYTES, 0);
            }
            match self.source.read(&mut self.window[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    self.ended = read == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Goes on by so many bytes, or to the end. Returns how many there were.
    pub(crate) fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut left = bytes;
        while left > 0 {
            let there = self.peek(left.min(CHUNK_BYTES as u64) as usize)?.len();
            if there == 0 {
                break;
            }
            self.start += there;
            self.offset += there as u64;
            left -= there as u64;
        }
        Ok(bytes - left)
    }
}

impl Read for Input<'_> {
    /// What was there before the stream broke off comes before the error.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(CHUNK_BYTES);
        if self.broken.is_none() {
            if let Err(error) = self.peek(wanted) {
                self.broken = Some(error);
            }
        }
        let read = wanted.min(self.end - self.start);
        if read == 0 && wanted > 0 {
            if let Some(error) = self.broken.take() {
                return Err(error);
            }
        }
        into[..read].copy_from_slice(&self.window[self.start..self.start + read]);
        self.start += read;
        self.offset += read as u64;
        Ok(read)
    }
}
