//! The objects, threads, files, connections and processor time of a process, for tests of forbidden actions.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{time::ClockId, unistd::Pid};

use super::Process;

impl Process {
    pub fn has_loaded(&self, object: &str) -> io::Result<bool> {
        let maps = fs::read_to_string(self.entry("maps"))?;
        Ok(maps.lines().any(|line| line.rsplit('/').next() == Some(object)))
    }

    pub fn threads(&self) -> io::Result<Vec<String>> {
        let threads = fs::read_dir(self.entry("task"))?.flatten();
        // A thread may end before its name is read.
        let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
        Ok(names.map(|name| name.trim_end().to_owned()).collect())
    }

    /// The open files: paths, and others as `socket:[1234]`.
    pub fn open_files(&self) -> io::Result<Vec<PathBuf>> {
        let files = fs::read_dir(self.entry("fd"))?.flatten();
        Ok(files.filter_map(|file| fs::read_link(file.path()).ok()).collect())
    }

    pub fn is_connected_to(&self, port: u16) -> io::Result<bool> {
        let own = self.open_files()?;
        let mut tables = String::new();
        for table in ["net/tcp", "net/tcp6"] {
            tables += &fs::read_to_string(self.entry(table))?;
        }
        let remote = format!(":{port:04X}");
        Ok(tables.lines().any(|line| {
            let mut fields = line.split_ascii_whitespace().skip(2);
            let is_there = fields.next().is_some_and(|address| address.ends_with(&remote));
            is_there && fields.nth(6).is_some_and(|inode| own.contains(&format!("socket:[{inode}]").into()))
        }))
    }

    /// Whether it listens at a Unix socket that was made at this path, or at one with a suffix, and moved there.
    pub fn listens_at(&self, path: &Path) -> io::Result<bool> {
        const LISTENING: &str = "00010000";
        let (own, path) = (self.open_files()?, path.display().to_string());
        let table = fs::read_to_string(self.entry("net/unix"))?;
        Ok(table.lines().any(|line| {
            let fields: Vec<_> = line.split_ascii_whitespace().collect();
            let [_, _, _, flags, _, _, inode, at] = fields[..] else { return false };
            flags == LISTENING && at.starts_with(&path) && own.contains(&format!("socket:[{inode}]").into())
        }))
    }

    /// The processor time of all threads, including threads that have ended.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let pid = i32::try_from(self.pid).map_err(|_| io::ErrorKind::NotFound)?;
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid))?;
        Ok(clock.now()?.into())
    }

    /// The bytes of memory that it shares with no file: heap, stacks and changed data.
    pub fn own_memory(&self) -> io::Result<u64> {
        let status = fs::read_to_string(self.entry("status"))?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"));
        let kibibytes = kibibytes.and_then(|number| number.trim().parse::<u64>().ok());
        kibibytes.map(|number| number << 10).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn entry(&self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.pid).into()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::unix::net::{UnixListener, UnixStream},
        thread,
        time::Instant,
    };

    use super::*;

    fn own() -> Process {
        Process::look(std::process::id()).unwrap()
    }

    #[test]
    fn a_loaded_library_is_seen() {
        assert!(own().has_loaded("libc.so.6").unwrap());
        assert!(!own().has_loaded("libc.so").unwrap());
    }

    #[test]
    fn a_unix_socket_is_seen_while_it_listens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        assert!(!own().listens_at(&path).unwrap());
        let listener = UnixListener::bind(dir.path().join("socket.new")).unwrap();
        assert!(own().listens_at(&path).unwrap());
        let client = UnixStream::connect(dir.path().join("socket.new")).unwrap();
        let accepted = listener.accept().unwrap();
        drop(listener);
        assert!(!own().listens_at(&path).unwrap());
        drop((client, accepted));
    }

    #[test]
    fn a_thread_is_seen_by_its_name() {
        let (end, ended) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("seen-by-name".into());
        let thread = thread
            .spawn(move || {
                end.send(()).unwrap();
                thread::park();
            })
            .unwrap();
        // A running thread has its name.
        ended.recv().unwrap();
        assert!(own().threads().unwrap().contains(&"seen-by-name".into()));
        thread.thread().unpark();
        thread.join().unwrap();
    }

    #[test]
    fn an_open_file_is_seen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        assert!(own().open_files().unwrap().contains(&path));
        let (file, _kept) = file.keep().unwrap();
        drop(file);
        assert!(!own().open_files().unwrap().contains(&path));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn processor_time_grows_with_work() {
        let before = own().processor_time().unwrap();
        let start = Instant::now();
        while own().processor_time().unwrap() < before + Duration::from_millis(20) {
            assert!(start.elapsed() < Duration::from_secs(60), "a minute of work took no processor time");
        }
        let missing = Process { pid: u32::MAX, parent: 0, start: 0 };
        assert!(missing.processor_time().is_err());
    }

    #[test]
    fn own_memory_grows_with_what_is_written() {
        let before = own().own_memory().unwrap();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(own().own_memory().unwrap() >= before + (32 << 20));
        drop(written);
    }

    #[test]
    fn a_connection_is_seen_by_its_remote_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(!own().is_connected_to(port).unwrap());
        let connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(own().is_connected_to(port).unwrap());
        drop(connection);
        assert!(!own().is_connected_to(port).unwrap());
    }
}
