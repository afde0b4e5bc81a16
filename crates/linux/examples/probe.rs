//! Probe.
use forebay_linux::oracle::arrivals::{Arrivals, Pattern};
use forebay_linux::oracle::pairs::PAIRS;
use forebay_linux::oracle::compare;
fn main() {
    let kernel = forebay_linux::place::Kernel::find().unwrap();
    let name = std::env::args().nth(1).unwrap();
    let pair = PAIRS.iter().find(|p| p.name == name).unwrap();
    for pattern in Pattern::ALL {
        let arrivals = Arrivals::new(pattern, 1, 10000);
        let f = compare(&kernel, pair, &arrivals, 1).unwrap();
        let late = arrivals.packets.iter().zip(&f.linux).filter(|(a, b)| a.at != b.arrived).count();
        println!("{pattern:?} late {late}");
        for i in 0..10000 { if arrivals.packets[i].at != f.linux[i].arrived { if i < 500 { println!("late {i} {:?} by {}", arrivals.packets[i], f.linux[i].arrived as i64 - arrivals.packets[i].at as i64); } } }
        let mut n = 0;
        for i in 0..10000 {
            let (a, b) = (f.linux[i], f.simulated[i]);
            if a.departed != b.departed { n += 1; if n < 2 {
                let ms = a.departed.map(|d| d.0 % 1_000_000);
                println!("{i} arr {} linux {:?} ours {:?} sim {:?} ms-phase {:?} delta {:?}", arrivals.packets[i].at, a.departed, f.ours[i].departed, b.departed, ms, a.departed.zip(b.departed).map(|(a,b)| a.0 as i64 - b.0 as i64)); } }
        }
    }
}
