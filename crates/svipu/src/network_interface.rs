//! The network interface on which the nodes of a job reach each other.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::str::FromStr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use serde::Deserialize;
use vipu_types::{Words, words};

/// The greatest length of the name of an interface in Linux.
const LONGEST_NAME: usize = 15;

/// A port for a connection that sends nothing.
const NO_PORT: u16 = 9;

/// An interface by its name, or a network that contains the address of one: `eth0` or `10.1.0.0/16`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Interface(String);

impl Interface {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The interface of the route from this host to another one. It is told by its network if the other host
    /// is in it, because names of interfaces differ between hosts.
    pub(crate) fn towards(host: &str) -> Result<Self, Words> {
        let addresses = (host, NO_PORT).to_socket_addrs().map_err(|why| words!("{host}: {why}"))?;
        let address = addresses.map(|address| address.ip()).find_map(|address| match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        let address = address.ok_or_else(|| words!("{host} has no IPv4 address"))?;
        let local = local_address(address).map_err(|why| words!("no route to {host} ({address}): {why}"))?;
        let interfaces = getifaddrs().map_err(|why| words!("cannot list the interfaces: {why}"))?;
        let found = interfaces.filter_map(|it| Local::of(&it)).find(|it| it.address == local);
        found.map(|it| it.towards(address)).ok_or_else(|| words!("no interface has the address {local}"))
    }
}

/// The address from which this host sends to another one. Nothing is sent.
fn local_address(address: Ipv4Addr) -> std::io::Result<IpAddr> {
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    socket.connect((address, NO_PORT))?;
    Ok(socket.local_addr()?.ip())
}

/// An interface of this host.
struct Local {
    name: String,
    address: Ipv4Addr,
    mask: Ipv4Addr,
}

impl Local {
    fn of(interface: &InterfaceAddress) -> Option<Self> {
        let address = interface.address?.as_sockaddr_in()?.ip();
        let mask = interface.netmask?.as_sockaddr_in()?.ip();
        Some(Self { name: interface.interface_name.clone(), address, mask })
    }

    fn towards(self, address: Ipv4Addr) -> Interface {
        let network = self.address & self.mask;
        match address & self.mask == network {
            true => Interface(format!("{network}/{}", self.mask.to_bits().leading_ones())),
            false => Interface(self.name),
        }
    }
}

impl FromStr for Interface {
    type Err = Words;

    fn from_str(text: &str) -> Result<Self, Words> {
        let is_network = |(address, bits): (&str, &str)| {
            address.parse::<Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 32)
        };
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
        let is_name = (1..=LONGEST_NAME).contains(&text.len())
            && text.bytes().all(is_known)
            && text.starts_with(|first: char| first.is_ascii_alphanumeric());
        match is_name || text.split_once('/').is_some_and(is_network) {
            true => Ok(Self(text.to_owned())),
            false => {
                Err("write the name of an interface or a network, for example eth0 or 10.1.0.0/16".into())
            }
        }
    }
}

impl TryFrom<String> for Interface {
    type Error = Words;

    fn try_from(text: String) -> Result<Self, Words> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_hostfile_interfaces_are_names_or_networks() {
        for good in ["eth0", "enp3s0f1.100", "10.1.0.0/16", "bond0:1"] {
            assert_eq!(Interface::from_str(good).unwrap().as_str(), good);
        }
        for wrong in
            ["", "-x", "a b", "a;b", "$(x)", "eth0\n", "10.1.0.0/33", "10.1/16", "abcdefghijklmnop", "::1/64"]
        {
            assert!(Interface::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cli_svipu_hostfile_names_the_interface_if_the_route_leaves_its_network() {
        let eth0 = || Local {
            name: "eth0".into(),
            address: Ipv4Addr::new(10, 1, 3, 4),
            mask: Ipv4Addr::new(255, 255, 0, 0),
        };
        assert_eq!(eth0().towards(Ipv4Addr::new(10, 1, 200, 1)).as_str(), "10.1.0.0/16");
        assert_eq!(eth0().towards(Ipv4Addr::new(10, 2, 0, 1)).as_str(), "eth0");
    }
}
