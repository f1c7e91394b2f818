//! The content of a config file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One GCD: what one process drives, and one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gcd {
    /// Its IPUs.
    pub devices: Vec<Device>,
    /// What the controller says of it. Copied as it is: Poplar knows keys that nobody documented.
    pub attributes: BTreeMap<String, String>,
}

/// One IPU and the way to it. Every member is written, also when zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the format's; what they mean is not ours to define")]
pub struct Device {
    pub ip: String,
    pub server_port: u32,
    pub rdma_port: u32,
    pub device_id: u32,
    pub ipulink_segment_id: u32,
    pub routing_id: u32,
    pub ipu_arch_id: u32,
    pub ipu_id: u32,
    pub chip_id: String,
    pub gwsw_version: String,
    pub ipum_sw_version: String,
}

impl Gcd {
    /// The file's content.
    pub(crate) fn to_json(&self) -> std::io::Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_documented_one() {
        let device = Device {
            ip: "10.1.5.1".into(),
            server_port: 50052,
            rdma_port: 10000,
            device_id: 3,
            ipu_arch_id: 2,
            ipu_id: 3,
            chip_id: "a \"quoted\" chip".into(),
            gwsw_version: "2.6.0".into(),
            ..Device::default()
        };
        let attributes = [("GCD Id", "0"), ("Fabric Reconfigurable", "true")];
        let attributes = attributes.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let gcd = Gcd { devices: vec![device], attributes };
        let expected = r#"{
  "devices": [
    {
      "ip": "10.1.5.1",
      "server_port": 50052,
      "rdma_port": 10000,
      "device_id": 3,
      "ipulink_segment_id": 0,
      "routing_id": 0,
      "ipu_arch_id": 2,
      "ipu_id": 3,
      "chip_id": "a \"quoted\" chip",
      "gwsw_version": "2.6.0",
      "ipum_sw_version": ""
    }
  ],
  "attributes": {
    "Fabric Reconfigurable": "true",
    "GCD Id": "0"
  }
}
"#;
        let json = gcd.to_json().unwrap();
        assert_eq!(String::from_utf8_lossy(&json), expected);
        assert_eq!(serde_json::from_slice::<Gcd>(&json).unwrap(), gcd);
    }

    #[test]
    fn no_attribute_is_made_up() {
        let empty = Gcd::default().to_json().unwrap();
        assert_eq!(String::from_utf8_lossy(&empty), "{\n  \"devices\": [],\n  \"attributes\": {}\n}\n");
    }
}
