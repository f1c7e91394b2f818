//! The content of a config file.

use vipu_types::Gcd;

/// Returns the content of a config file: JSON that Poplar reads.
///
/// # Errors
/// None is known, because each part of a [`Gcd`] has a form in JSON.
pub fn to_json(gcd: &Gcd) -> std::io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(gcd)?;
    json.push(b'\n');
    Ok(json)
}

/// Whether the IPUs of a config file are reached over RDMA. `None` if the text is no config file.
pub fn uses_rdma(json: &[u8]) -> bool {
    let gcd: Gcd = serde_json::from_slice(json).unwrap_or_default();
    gcd.devices.iter().any(|device| device.rdma_port != 0)
}

#[cfg(test)]
mod tests {
    use vipu_types::Device;

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
        let json = to_json(&gcd).unwrap();
        assert_eq!(String::from_utf8_lossy(&json), expected);
        assert_eq!(serde_json::from_slice::<Gcd>(&json).unwrap(), gcd);
    }

    #[test]
    fn a_port_for_rdma_tells_that_it_is_used() {
        let of_port = |rdma_port| {
            let devices = vec![Device::default(), Device { rdma_port, ..Device::default() }];
            uses_rdma(&to_json(&Gcd { devices, ..Gcd::default() }).unwrap())
        };
        assert_eq!((of_port(10000), of_port(0)), (true, false));
        assert!(!uses_rdma(b"") && !uses_rdma(b"[]") && !uses_rdma(b"{\"devices\": [{}]}"));
    }

    #[test]
    fn no_attribute_is_made_up() {
        let empty = to_json(&Gcd::default()).unwrap();
        assert_eq!(String::from_utf8_lossy(&empty), "{\n  \"devices\": [],\n  \"attributes\": {}\n}\n");
    }
}
