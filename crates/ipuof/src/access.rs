//! Access to a file: only the job's user may read it, as far as the file system supports that.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use xattr::FileExt;

/// The way in which the job's user is allowed to read a file. The best way comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// The user owns the file, and no other user can read it.
    Owner,
    /// An access control list allows this user only.
    Acl,
    /// All users can read the file, because the file system has no access control lists.
    WorldReadable,
}

impl Access {
    /// All ways, in the order of the tries.
    pub(crate) const ALL: [Access; 3] = [Access::Owner, Access::Acl, Access::WorldReadable];

    fn apply(self, file: &File, reader: u32) -> io::Result<()> {
        match self {
            // The mode is set first, because only a privileged process can change the mode of another user's
            // file.
            Access::Owner => {
                file.set_permissions(Permissions::from_mode(0o400))?;
                if file.metadata()?.uid() == reader { Ok(()) } else { fchown(file, Some(reader), None) }
            }
            Access::Acl => file.set_xattr(ACL_ATTRIBUTE, &acl(reader)),
            Access::WorldReadable => file.set_permissions(Permissions::from_mode(0o644)),
        }
    }

    /// Whether the error means that the file system lacks this way. Other errors mean that something is
    /// broken.
    fn is_closed(self, error: &io::Error) -> bool {
        match self {
            // InvalidInput: the file system cannot store this user id.
            Access::Owner => matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput),
            Access::Acl => error.kind() == ErrorKind::Unsupported,
            Access::WorldReadable => false,
        }
    }
}

/// Allows `reader` to read the file, by the first of `ways` that works here.
pub(crate) fn grant(file: &File, reader: u32, ways: &[Access]) -> io::Result<Access> {
    for way in ways {
        match way.apply(file, reader) {
            Ok(()) => return Ok(*way),
            Err(error) if way.is_closed(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::Unsupported.into())
}

/// The extended attribute with a POSIX access control list.
const ACL_ATTRIBUTE: &str = "system.posix_acl_access";

/// The list `user::rw-, user:<reader>:r--, group::---, mask::r--, other::---` in the kernel's format: version
/// 2, then entries of tag, permissions and id, little endian, ordered by tag.
fn acl(reader: u32) -> Vec<u8> {
    const VERSION: u32 = 2;
    let [owner, user, group, mask, other] = [0x01_u16, 0x02, 0x04, 0x10, 0x20];
    const NO_ID: u32 = u32::MAX;
    let [none, read, read_write] = [0_u16, 4, 6];
    let entries = [
        (owner, read_write, NO_ID),
        (user, read, reader),
        (group, none, NO_ID),
        (mask, read, NO_ID),
        (other, none, NO_ID),
    ];
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_kernels_format() {
        #[rustfmt::skip]
        let expected = [
            2, 0, 0, 0,
            0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
            0x02, 0, 4, 0, 0xe9, 0x03, 0x00, 0x00,
            0x04, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
            0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
            0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        ];
        assert_eq!(acl(1001), expected);
    }

    #[test]
    fn the_kernel_takes_the_list_and_gives_it_back() {
        let file = tempfile::tempfile().unwrap();
        match grant(&file, 1001, &[Access::Acl]) {
            Ok(access) => {
                assert_eq!(access, Access::Acl);
                assert_eq!(file.get_xattr(ACL_ATTRIBUTE).unwrap(), Some(acl(1001)));
                // The group bits are the mask of the list.
                assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        }
    }

    #[test]
    fn ones_own_file_needs_no_privilege() {
        let file = tempfile::tempfile().unwrap();
        let me = file.metadata().unwrap().uid();
        assert_eq!(grant(&file, me, &Access::ALL).unwrap(), Access::Owner);
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o400);
    }

    #[test]
    fn the_last_way_is_the_documented_mode() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(grant(&file, 1001, &[Access::WorldReadable]).unwrap(), Access::WorldReadable);
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o644);
    }

    #[test]
    fn only_a_closed_way_leads_to_the_next() {
        let closed = |way: Access, code: i32| way.is_closed(&io::Error::from_raw_os_error(code));
        let [eperm, einval, eio, enospc, enotsup] = [1, 22, 5, 28, 95];
        assert!(closed(Access::Owner, eperm) && closed(Access::Owner, einval));
        assert!(closed(Access::Acl, enotsup));
        for way in Access::ALL {
            assert!(!closed(way, eio) && !closed(way, enospc), "{way:?}");
        }
        assert!(!closed(Access::Acl, eperm));
    }
}
