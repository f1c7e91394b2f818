//! TCP ports for clusters that run side by side.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail, ensure};

/// A range of ports that is reserved while this value lives.
///
/// The first port stays bound, as the token that keeps other clusters and processes off the rest. The ports
/// lie below those that systems give to outgoing connections.
#[derive(Debug)]
pub struct Ports {
    _token: TcpListener,
    next: u16,
    end: u16,
}

const FIRST: u16 = 20_000;
const LAST: u16 = 32_000;
const BLOCK: u16 = 120;

impl Ports {
    /// Reserves a block of ports, enough for a hundred nodes.
    pub fn reserve() -> Result<Self> {
        for first in (FIRST..LAST).step_by(BLOCK.into()) {
            let end = first + BLOCK;
            let Ok(token) = bind(first) else { continue };
            if (first + 1..end).all(|port| bind(port).is_ok()) {
                return Ok(Self { _token: token, next: first + 1, end });
            }
        }
        bail!("no {BLOCK} free ports in a row between {FIRST} and {LAST}")
    }

    /// The number of the block, from 0 to 99. No other block that is reserved has it.
    pub fn number(&self) -> u16 {
        (self.end - BLOCK - FIRST) / BLOCK
    }

    pub fn take(&mut self) -> Result<u16> {
        ensure!(self.next < self.end, "more ports are needed than were reserved");
        self.next += 1;
        Ok(self.next - 1)
    }
}

fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}
