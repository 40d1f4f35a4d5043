//! Buffered input, plain or compressed, with look-ahead.

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, Read};

/// Size of a read, bytes.
const CHUNK_BYTES: usize = 1 << 18;
/// Size of a read from a decompressor, bytes. What it made in a read that fails is lost.
const STEP_BYTES: usize = 1 << 14;
/// Magic numbers of compressed files.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory limit of an xz stream, KiB; `xz -9` needs 64 MiB.
const XZ_MEMORY_KIB: u32 = 160 << 10;

/// Decoder of consecutive zstd frames (RFC 8878 §3.1). Skippable frames are skipped.
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
                        // The lowest four bits of the magic number vary.
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

/// Compares the content checksum of a finished frame, if it has one (RFC 8878 §3.1.1), and returns
/// the rest of the input. The decoder itself does not compare it.
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

/// Input with its offset.
pub struct Input<'a> {
    source: Box<dyn Read + 'a>,
    /// Buffer. Bytes from `start` to `end` are unread; bytes after `end` are free.
    window: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    /// Size of a read.
    step: usize,
    ended: bool,
    /// Read error, reported after the buffered bytes.
    broken: Option<io::Error>,
}

impl<'a> Input<'a> {
    /// Opens an input; decompresses gzip, zstd and xz.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn open(source: impl Read + 'a) -> io::Result<Self> {
        let mut plain = Self::of(Box::new(source));
        let begin = plain.peek(6)?;
        let (gzip, zstd) = (begin.starts_with(&GZIP), begin.starts_with(&ZSTD));
        let xz = begin.starts_with(&XZ);
        if gzip {
            return Ok(Self::decoded(flate2::read::MultiGzDecoder::new(plain)));
        }
        if zstd {
            return Ok(Self::decoded(Frames { state: Frame::Between(plain) }));
        }
        if xz {
            let decoder = lzma_rust2::XzReader::new_mem_limit(plain, true, XZ_MEMORY_KIB);
            return Ok(Self::decoded(decoder));
        }
        Ok(plain)
    }

    fn of(source: Box<dyn Read + 'a>) -> Self {
        Self {
            source,
            window: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            step: CHUNK_BYTES,
            ended: false,
            broken: None,
        }
    }

    fn decoded(source: impl Read + 'a) -> Self {
        Self { step: STEP_BYTES, ..Self::of(Box::new(source)) }
    }

    /// Offset of the next byte after decompression.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `bytes` bytes, or fewer at the end. Memory grows with the available input,
    /// not with `bytes`.
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
        if self.ended {
            return Ok(());
        }
        self.window.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < bytes && !self.ended {
            let to = self.end + self.step;
            if self.window.len() < to {
                self.window.resize(self.end + CHUNK_BYTES, 0);
            }
            match self.source.read(&mut self.window[self.end..to]) {
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

    /// Skips `bytes` bytes, or up to the end. Returns the number of bytes skipped.
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
    /// Returns all bytes before a read error, then the error.
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
