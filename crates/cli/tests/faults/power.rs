//! Power fails after each system call of a run. What is then on the disk follows from the calls that synced files and
//! folders; what was not synced may be there, or not, or in part.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::trace::{Call, calls, path_of};
use super::{RUN, sample, strace};
use crate::common::{Place, temporaries};
use crate::kills::results;
use crate::skips::skip;
use forebay_aqm::base::rng::Rng;

/// A change of the file system.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Change {
    /// A new, empty file, with its number.
    Create(PathBuf, usize),
    /// Bytes at the end of a file.
    Append(usize, Vec<u8>),
    /// The file is empty.
    Truncate(usize),
    /// The content of a file is on the disk.
    SyncFile(usize),
    /// The names in a folder are on the disk.
    SyncFolder(PathBuf),
    Folder(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// The changes that the calls make below `root`; a file is known by a number that it keeps when it is renamed.
fn changes(calls: &[Call], root: &Path) -> Vec<Change> {
    let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut all = Vec::new();
    let path = |bytes: &[u8]| root.join(String::from_utf8_lossy(bytes).as_ref());
    let below = |path: PathBuf| path.starts_with(root).then_some(path);
    for call in calls.iter().filter(|call| call.is_done()) {
        let strings = call.strings();
        let named = |n: usize| strings.get(n).map(|bytes| path(bytes)).and_then(below);
        let descriptor = call.descriptor().and_then(below);
        let file = descriptor.as_ref().and_then(|path| files.get(path).copied());
        match call.name.as_str() {
            "openat" if call.arguments.contains("O_CREAT") => {
                let Some(path) = path_of(&call.result).and_then(below) else { continue };
                if !files.contains_key(&path) {
                    let number = all.len();
                    files.insert(path.clone(), number);
                    all.push(Change::Create(path, number));
                }
            }
            "write" => {
                let written: usize = call.result.parse().unwrap_or(0);
                if let Some(file) = file {
                    all.push(Change::Append(file, strings[0][..written].to_vec()));
                }
            }
            "ftruncate" => all.extend(file.map(Change::Truncate)),
            "fsync" | "fdatasync" => all.extend(match (file, descriptor) {
                (Some(file), _) => Some(Change::SyncFile(file)),
                (None, Some(folder)) => Some(Change::SyncFolder(folder)),
                (None, None) => None,
            }),
            "mkdir" => all.extend(named(0).map(Change::Folder)),
            "rename" => {
                let (Some(from), Some(to)) = (named(0), named(1)) else { continue };
                if let Some(number) = files.remove(&from) {
                    files.insert(to.clone(), number);
                }
                all.push(Change::Rename(from, to));
            }
            "unlink" => {
                let Some(path) = named(0) else { continue };
                files.remove(&path);
                all.push(Change::Remove(path));
            }
            _ => {}
        }
    }
    all
}

/// A disk: the content of files by number, and what each name stands for.
#[derive(Clone, Default, Debug)]
struct Disk {
    content: BTreeMap<usize, Vec<u8>>,
    names: BTreeMap<PathBuf, Option<usize>>,
}

impl Disk {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Create(path, file) => {
                self.names.insert(path.clone(), Some(*file));
                self.content.entry(*file).or_default();
            }
            Change::Append(file, bytes) => self.content.entry(*file).or_default().extend(bytes),
            Change::Truncate(file) => self.content.entry(*file).or_default().clear(),
            Change::Folder(path) => drop(self.names.insert(path.clone(), None)),
            Change::Rename(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Change::Remove(path) => drop(self.names.remove(path)),
            Change::SyncFile(_) | Change::SyncFolder(_) => {}
        }
    }

    /// Writes the files whose folders exist.
    fn write(&self, root: &Path) {
        for (path, file) in &self.names {
            if path == root || !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match file {
                None => fs::create_dir(path).unwrap(),
                Some(file) => fs::write(path, self.content.get(file).map_or(&[][..], Vec::as_slice)).unwrap(),
            }
        }
    }
}

/// Which of the unsynced changes are on the disk after a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Luck {
    /// Nothing.
    Least,
    /// All names, no content.
    Names,
    /// A random part of each.
    Random(u64),
    /// Everything: the process was killed.
    Most,
}

/// The disk if power fails after `changes`.
fn after(changes: &[Change], luck: Luck) -> Disk {
    let mut rng = Rng::stream(if let Luck::Random(seed) = luck { seed } else { 0 }, "power");
    let synced = |n: usize| {
        changes[n + 1..].iter().any(|later| match (&changes[n], later) {
            (Change::Append(file, _) | Change::Truncate(file), Change::SyncFile(other)) => file == other,
            (Change::Create(path, _) | Change::Folder(path) | Change::Remove(path), Change::SyncFolder(folder)) => {
                path.parent() == Some(folder)
            }
            (Change::Rename(_, to), Change::SyncFolder(folder)) => to.parent() == Some(folder),
            _ => false,
        })
    };
    let mut disk = Disk::default();
    for (n, change) in changes.iter().enumerate() {
        let is_content = matches!(change, Change::Append(..) | Change::Truncate(_));
        let there = synced(n)
            || match luck {
                Luck::Least => false,
                Luck::Names => !is_content,
                Luck::Random(_) => rng.below(2) == 0,
                Luck::Most => true,
            };
        match change {
            _ if there => disk.apply(change),
            Change::Append(file, bytes) if matches!(luck, Luck::Random(_)) => {
                let kept = rng.below(bytes.len() as u64 + 1) as usize;
                disk.apply(&Change::Append(*file, bytes[..kept].to_vec()));
            }
            // The file exists without its name: a later rename may be on the disk.
            Change::Create(_, file) => drop(disk.content.entry(*file).or_default()),
            _ => {}
        }
    }
    // If a rename is on the disk, the new name is there even if the creation of the old name was never synced.
    for (n, change) in changes.iter().enumerate() {
        if let Change::Rename(from, to) = change
            && synced(n)
            && !changes[n + 1..]
                .iter()
                .any(|later| matches!(later, Change::Rename(_, other) | Change::Remove(other) if other == to))
        {
            let file = changes[..n].iter().rev().find_map(|earlier| match earlier {
                Change::Create(path, file) if path == from => Some(*file),
                _ => None,
            });
            disk.names.remove(from);
            disk.names.insert(to.clone(), file);
        }
    }
    disk
}

/// The runs that no power failure may lose, with their content.
fn finished(changes: &[Change]) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_run = |path: &Path| {
        path.parent().is_some_and(|folder| folder.ends_with("runs"))
            && path.extension().is_some_and(|end| end == "json")
    };
    let mut all = BTreeMap::new();
    // The program syncs a run before it begins the next: all runs that have their final name, except the last, are on disk.
    let named: Vec<&Change> = changes.iter().filter(|one| matches!(one, Change::Rename(_, to) if is_run(to))).collect();
    let known = after(changes, Luck::Most);
    let done = named.len().saturating_sub(1);
    for change in &named[..done] {
        let Change::Rename(_, to) = change else { continue };
        all.insert(to.clone(), known.names[to].and_then(|file| known.content.get(&file)).cloned().unwrap_or_default());
    }
    all
}

/// The calls of a run in a new directory, as changes below the folder of the test.
fn recorded(place: &Place) -> Result<Vec<Change>, String> {
    let trace = "trace=openat,write,ftruncate,fsync,fdatasync,mkdir,rename,unlink";
    strace(place, &["-y", "-xx", "-s", "100000000", "-o", "calls", "-e", trace], &RUN)?;
    let log = fs::read_to_string(place.dir.join("calls")).unwrap();
    let root = place.dir.canonicalize().unwrap();
    let out = root.join("out");
    let below = |change: &Change| match change {
        Change::Create(path, _) | Change::Folder(path) | Change::Remove(path) | Change::Rename(path, _) => {
            path.starts_with(&out)
        }
        Change::SyncFolder(path) => path.starts_with(&root),
        Change::Append(..) | Change::Truncate(_) | Change::SyncFile(_) => true,
    };
    Ok(changes(&calls(&log), &root).into_iter().filter(below).collect())
}

/// The finished runs that are lost if power fails after `changes`.
fn lost(changes: &[Change], luck: Luck) -> Vec<String> {
    let disk = after(changes, luck);
    let content = |path: &PathBuf| disk.names.get(path).copied().flatten().and_then(|file| disk.content.get(&file));
    let is_there = |path: &PathBuf| {
        let above =
            path.ancestors().skip(1).take_while(|folder| folder.file_name().is_some_and(|name| name != "power"));
        let mut folders = above.filter(|folder| changes.contains(&Change::Folder(folder.to_path_buf())));
        folders.all(|folder| disk.names.contains_key(folder))
    };
    let all = finished(changes).into_iter();
    let gone = all.filter(|(path, bytes)| content(path) != Some(bytes) || !is_there(path));
    gone.map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn power_failure_loses_no_finished_run() {
    let place = Place::new("power");
    let all = match recorded(&place) {
        Ok(all) => all,
        Err(why) => return skip(why),
    };
    let expected = results(&place.dir.join("out"));
    let lucks = [Luck::Least, Luck::Names, Luck::Random(1), Luck::Random(2), Luck::Most];
    let points: Vec<(usize, Luck)> = (0..=all.len()).flat_map(|n| lucks.map(|luck| (n, luck))).collect();
    assert!(points.len() > 300, "{} points", points.len());
    for &(n, luck) in &points {
        let lost = lost(&all[..n], luck);
        assert!(lost.is_empty(), "after {n} of {} changes, {luck:?}: {lost:?} lost", all.len());
    }
    // Planted faults: if the program did not sync files, or folders, the check would find a lost run.
    for kind in ["SyncFile", "SyncFolder"] {
        let bad: Vec<Change> = all.iter().filter(|one| !format!("{one:?}").starts_with(kind)).cloned().collect();
        let found = (0..=bad.len()).any(|n| lucks.iter().any(|luck| !lost(&bad[..n], *luck).is_empty()));
        assert!(found, "a run without {kind} is not found");
    }
    let root = place.dir.canonicalize().unwrap();
    let mut tried = 0;
    for (n, luck) in sample(points, 25) {
        let _ = fs::remove_dir_all(root.join("out"));
        after(&all[..n], luck).write(&root);
        let what = format!("after {n} of {} changes, {luck:?}", all.len());
        let resumed = place.run(&RUN);
        assert_eq!(resumed.code, Some(0), "{what}: {resumed:?}");
        assert!(results(&root.join("out")) == expected, "{what}: other results");
        assert!(temporaries(&root.join("out")).is_empty(), "{what}");
        tried += 1;
    }
    println!("{tried} states of the disk, {} changes", all.len());
}
