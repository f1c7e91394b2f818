//! `svipu top`: a live screen.
//!
//! [`Top`] is the state. Documents, keys and the time change it, and it draws itself on a frame. [`Screen`] is
//! the terminal. [`watch`] connects the two.

mod document_file;
mod draw;
mod history;
mod keys;
mod lists;
mod notes;
mod picture;
mod reader;
mod screen;
mod state;
mod still;
mod table;

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::signal::Signal;

use crate::arguments::Command;
use crate::configuration::Configuration;
use crate::error::Failure;
use crate::{Arguments, Output, Surroundings, Users, find};
use document_file::DocumentFile;
use reader::Reader;
use screen::Event;
pub use screen::Screen;
pub use state::{Next, Top};

/// The time between two looks at the document and the clock.
const TICK: Duration = Duration::from_secs(1);

/// Shows the live screen until the user leaves it, or makes a picture of it.
pub fn watch(arguments: &Arguments, surroundings: Surroundings) -> Output {
    show(arguments, surroundings).unwrap_or_else(|failed| failed)
}

fn show(arguments: &Arguments, mut surroundings: Surroundings) -> Result<Output, Output> {
    let utf8 = surroundings.utf8();
    let failed = |failure: Failure| Output::of(&failure, utf8);
    let picture = arguments.picture();
    if picture.is_none() && !io::stdin().is_terminal() {
        return Err(failed(Failure::Live));
    }
    let configuration = Configuration::read(&surroundings).map_err(failed)?;
    let common = configuration.complete(&arguments.common, &Command::Top { svg: None });
    let path = find::document(common.status.as_deref(), configuration.status.as_deref(), &surroundings);
    let mut file = DocumentFile::new(path.map_err(failed)?, surroundings.user);
    let status = file.read().map_err(failed)?;
    if picture.is_none() {
        surroundings.users = Users::later().map_err(|why| failed(why.into()))?;
    }
    let top = Top::new(&Arguments { command: None, common }, surroundings, status)?;
    let mut output = Output::default();
    if picture.is_some() {
        output.put(top.svg(), picture);
        return Ok(output);
    }
    let reader = Reader::start(file).map_err(|why| failed(why.into()))?;
    follow(top, reader).map_err(|why| failed(why.into()))?;
    Ok(output)
}

/// Follows the keys, the document and the clock.
fn follow(mut top: Top, mut reader: Reader) -> io::Result<()> {
    let mut screen = Screen::enter()?;
    let mut looked = Instant::now();
    loop {
        screen.draw(|frame| top.draw(frame))?;
        for event in screen.wait(TICK.saturating_sub(looked.elapsed()))? {
            match event {
                Event::Key(key) => match top.key(key) {
                    Next::Stay => {}
                    Next::Suspend => screen.suspend()?,
                    Next::Quit => return Ok(()),
                },
                Event::Signal(Signal::SIGTSTP) => screen.suspend()?,
                Event::Signal(signal) => return screen.die(signal),
            }
        }
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            top.tick(Timestamp::now().as_second());
            if !top.is_paused() {
                reader.newest().into_iter().for_each(|read| top.document(read));
                top.reading(reader.hangs());
            }
        }
    }
}
