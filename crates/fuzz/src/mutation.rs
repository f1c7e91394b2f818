//! Random changes of bytes, in place of libFuzzer, for the tests.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// The length at which longer inputs are cut.
const LONGEST: usize = 4096;

/// Numbers and separators that tend to break a reader.
const WORDS: [&[u8]; 14] = [
    b"\0",
    b"\n",
    b"=",
    b":",
    b",",
    b"\"",
    b"\\",
    b"#",
    b"-1",
    b"18446744073709551616",
    b"4294967296",
    b"\xff\xff\xff\xff\x0f",
    "\u{202e}".as_bytes(),
    b"vipu",
];

/// Makes inputs from other inputs.
#[derive(Debug)]
pub struct Mutator(StdRng);

impl Mutator {
    /// Makes a mutator. Equal seeds give equal inputs.
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Returns a new input from those of the corpus, which must not be empty.
    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus.choose(&mut self.0).cloned().unwrap_or_default();
        for _ in 0..self.0.random_range(1..=4) {
            self.change(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let (rng, length) = (&mut self.0, input.len());
        let (a, b) = (rng.random_range(0..=length), rng.random_range(0..=length));
        let (from, to) = (a.min(b), a.max(b));
        match rng.random_range(0..7) {
            0 if from < length => input[from] ^= 1 << rng.random_range(0..8),
            1 if from < length => input[from] = rng.random(),
            2 => drop(input.drain(from..to)),
            3 => {
                drop(input.splice(from..from, WORDS.choose(rng).copied().unwrap_or_default().iter().copied()))
            }
            4 => {
                let copy = input[from..to].to_vec();
                drop(input.splice(from..from, copy));
            }
            5 => input.truncate(to),
            _ => {
                let other = corpus.choose(rng).cloned().unwrap_or_default();
                let cut = rng.random_range(0..=other.len());
                input.truncate(from);
                input.extend_from_slice(&other[cut..]);
            }
        }
    }
}
