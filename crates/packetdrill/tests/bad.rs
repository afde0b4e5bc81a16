//! Scripts that cannot be read.

use forebay_packetdrill::{Options, check};

#[test]
fn malformed_text_is_refused_with_its_line() {
    for (text, error) in [
        ("0 < S 0:0(0) <mss 1000>\n+0 > S. 0:0(0) ak 1", "2: found ak, expected a time in seconds"),
        ("0 < S 0:0(1)", "1: found 1, expected the number of bytes between"),
        ("0 < S 0:0", "1: found the end of the file, expected `(`"),
        ("0 < X. 0:0(0)", "1: found X, expected flags of TCP"),
        ("0 < S 0 0(0)", "1: found 0, expected `:`"),
        ("0 < . 1:1(0) ack 1 win 65536", "1: found 65536, expected a window, from 0 to 65535"),
        ("0 < . 1:1(0) ack 4294967296", "1: found 4294967296, expected an acknowledgement number"),
        ("0 < . 1:1(0) <sack 1>", "1: found >, expected `:`"),
        ("0 < . 1:1(0) <sack>", "1: found >, expected a block: START:END"),
        ("0 < . 1:1(0) <TS val 1>", "1: found >, expected `ecr`"),
        ("0 < . 1:1(0) <mxx 1>", "1: found mxx, expected an option of TCP"),
        ("0 < . 1:1(0) <nop nop>", "1: found nop, expected `,` or `>`"),
        ("0 < [ect01] . 1:1(0)", "1: found ect01, expected noecn, ect0"),
        ("0 < [ect2] . 1:1(0)", "1: found ect2, expected noecn, ect0"),
        ("0 < . 1:1(0) ack 1 <...>", "1: found ..., expected an option of TCP"),
        ("-1 < . 1:1(0)", "1: found -1, expected a time in seconds from 0 to 86400"),
        ("1e9 < . 1:1(0)", "1: found 1e9, expected a time"),
        ("+2~+1 > . 1:1(0) ack 1", "1: found 1, expected a time that is not before"),
        ("+1~2 > . 1:1(0) ack 1", "1: found 2, expected `+`"),
        ("* < . 1:1(0)", "1: found <, expected `>`: only an expected packet"),
        ("+1~+2 write(3, ..., 5) = 5", "1: found write, expected `>`"),
        ("0 write(3, ..., 5)", "1: found the end of the file, expected `=`"),
        ("0 write(3, ..., 5 = 5", "1: found the end of the file, expected `,` or `)`"),
        ("0 write[3] = 5", "1: found [, expected `(`"),
        ("0 write(3, <) = 5", "1: found <, expected a number, a name, a text"),
        ("0 a() = 1 E (note", "1: found the end of the file, expected the words of a note"),
        ("\n0 [", "2: found [, expected a packet (< or >), a system call, a shell command"),
        ("0 %{ assert 1", "1: found the end of the file, expected the end of the code: }%"),
        ("\n`sysctl", "2: found the end of the file, expected the end of the shell command: `"),
        ("/* a\n", "1: found the end of the file, expected the end of the comment: */"),
        ("0 f(\"a) = 1", "1: found the end of the file, expected the end of the text"),
        ("0 f(0xfffffffffffffffffffff) = 1", "1: found 0xfffffffffffffffffffff, expected a hexadecimal number"),
        ("0 f(99999999999999999999) = 1", "1: found 99999999999999999999, expected a number of at most 63 bits"),
        ("--tolerance_usecs=x\n0 f() = 1", "1: found --tolerance_usecs=x, expected microseconds, from 1 to 1e9"),
        ("0 f() = 1\n--mtu=10", "2: found --mtu=10, expected bytes, from 88 to 65535"),
    ] {
        let found = check("s.pkt", text, &Options::default()).expect_err(text).to_string();
        assert!(found.starts_with(&format!("s.pkt:{error}")), "{text}\n{found}");
    }
}

#[test]
fn deeply_nested_lists_are_refused() {
    let text = format!("0 f({}", "[".repeat(100_000));
    let error = check("s.pkt", &text, &Options::default()).unwrap_err();
    assert_eq!(error.accepts, "fewer nested lists");
}
