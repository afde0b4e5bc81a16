# One run of a network that `cargo xtask ns2` describes, in ns-2.35. Prints a line of figures.
#
#   ns network.tcl DESCRIPTION SEED LIMIT CLASS [NAME VALUE]...
#
# DESCRIPTION is a file of the commands below. CLASS is the discipline of the studied link, LIMIT its limit_, NAME VALUE
# its parameters. The figures: mean and standard deviation of the queue in packets, dropped / arrived, utilisation,
# marked / arrived.

# Headers that no traffic uses cost time and memory. UDP needs RTP's.
remove-all-packet-headers
add-packet-header IP TCP Flags RTP Message

proc usage {} { puts stderr "network.tcl DESCRIPTION SEED LIMIT CLASS \[NAME VALUE\]..."; exit 2 }
if {$argc < 4 || $argc % 2} usage
set seed  [lindex $argv 1]
set limit [lindex $argv 2]
set aqm   [lindex $argv 3]

# Class defaults are set before any queue exists: ns-2 computes RED's weight when a link is created.
foreach {name value} [lrange $argv 4 end] { Queue/$aqm set $name $value }

set ns [new Simulator]
$ns rtproto Manual
ns-random $seed
Queue set limit_ 100000

# The rest of TCP is ns-2's default.
Agent/TCP set SetCWRonRetransmit_ false
Agent/TCP set maxburst_ 0

# --- Network -------------------------------------------------------------------------------------

# run DURATION WARMUP: in seconds.
proc run {duration warmup} { set ::duration $duration; set ::warmup $warmup }

# nodes N: numbered from 0.
proc nodes {n} { for {set i 0} {$i < $n} {incr i} { set ::node($i) [$::ns node] } }

# link FROM TO RATE DELAY LIMIT UNIT: drop-tail that holds LIMIT packets or bytes.
proc link {from to rate delay limit unit} {
    $::ns simplex-link $::node($from) $::node($to) $rate $delay DropTail
    set queue [[$::ns link $::node($from) $::node($to)] queue]
    $queue set queue_in_bytes_ [expr {$unit eq "bytes"}]
    if {$unit eq "bytes"} { $queue set mean_pktsize_ 1 }
    $::ns queue-limit $::node($from) $::node($to) [expr {$limit + 1}]
}

# study FROM TO RATE DELAY: the link whose queue is compared.
proc study {from to rate delay} {
    $::ns simplex-link $::node($from) $::node($to) $rate $delay $::aqm
    $::ns queue-limit $::node($from) $::node($to) $::limit
    set ::rate $rate
    set ::monitor [$::ns monitor-queue $::node($from) $::node($to) "" 0]
    set ::integrator [$::monitor get-pkts-integrator]
}

# loss FROM TO P: independent losses after transmission.
proc loss {from to p} {
    set rng [new RNG]
    $rng seed [expr {3000 + 7 * $::seed + 100 * $from + $to}]
    set draw [new RandomVariable/Uniform]
    $draw use-rng $rng
    set losses [new ErrorModel]
    $losses unit pkt
    $losses set rate_ $p
    $losses ranvar $draw
    $::ns link-lossmodel $losses $::node($from) $::node($to)
    # Not that of the link, whose monitor would count the losses as drops of the queue.
    $losses drop-target [new Agent/Null]
}

# lost FROM TO NUMBERS: the packets with these numbers, from 0, are lost after transmission.
proc lost {from to numbers} {
    set losses [new ErrorModel/List]
    $losses unit pkt
    $losses droplist $numbers
    $::ns link-lossmodel $losses $::node($from) $::node($to)
    $losses drop-target [new Agent/Null]
}

# rates FROM TO STEPS: the link has a new rate at each time. A transmission that has begun keeps its rate.
proc rates {from to steps} {
    set lane [[$::ns link $::node($from) $::node($to)] link]
    foreach {at rate} $steps { $::ns at $at "$lane set bandwidth_ $rate" }
}

# jitter FROM TO MOST: a packet waits up to MOST seconds before it is sent; the order is kept.
set jitter_rng [new RNG]
$jitter_rng seed [expr {2000 + $seed}]
proc jitter {from to most} {
    set idle [new RandomVariable/Constant]
    $idle set val_ -1
    set delay [new RandomVariable/Uniform]
    $delay use-rng $::jitter_rng
    $delay set min_ 0
    $delay set max_ $most
    set delayer [new Delayer]
    $delayer alloc $idle $delay
    $::ns insert-delayer $::node($from) $::node($to) $delayer
}

# bucket FROM TO RATE BYTES: packets within the token bucket are IN for RIO, others OUT.
proc bucket {from to rate bytes} {
    set tagger [$::ns maketbtagger Dest]
    $::ns attach-tagger [$::ns link $::node($from) $::node($to)] $tagger
    set profile [new QueueMonitor/ED/Flow/TB]
    $profile set-delay-samples [new Samples]
    $profile set target_rate_ $rate
    $profile set bucket_depth_ $bytes
    $profile set tbucket_ $bytes
    set classifier [$tagger classifier]
    $classifier set default_ [$classifier installNext $profile]
}

# hop AT TO NEXT: packets at AT for TO go to NEXT.
proc hop {at to next} {
    set link [$::ns link $::node($at) $::node($next)]
    [$::node($at) get-module Manual] add-route [$::node($to) set address_] [$link head]
}

# --- Traffic -------------------------------------------------------------------------------------

set flows 0

# A connection: its sender. KIND is the flavour, SINK that of the receiver, OPTIONS the sender's variables.
proc connection {from to kind sink options} {
    set tcp [new Agent/TCP$kind]
    set sink [new Agent/TCPSink$sink]
    foreach {name value} $options { $tcp set $name $value }
    $tcp set fid_ [incr ::flows]
    $::ns attach-agent $::node($from) $tcp
    $::ns attach-agent $::node($to) $sink
    $::ns connect $tcp $sink
    set ::sink_of($tcp) $sink
    return $tcp
}

# tcp FROM TO START STOP KIND SINK OPTIONS: unlimited data. STOP is - for the end of the run.
proc tcp {from to start stop kind sink options} {
    set ftp [new Application/FTP]
    $ftp attach-agent [connection $from $to $kind $sink $options]
    $::ns at $start "$ftp start"
    if {$stop ne "-"} { $::ns at $stop "$ftp stop" }
}

# files FROM TO START STOP KIND SINK OPTIONS FRESH REQUEST BACK DRAWS: files one after the other. DRAWS has the packets
# of each file and the seconds until the next. FRESH 1: a new connection for each. REQUEST: bytes of a packet from TO
# to FROM that asks for each, 0 for none. With requests a file ends when it has arrived: BACK seconds before the
# acknowledgement reaches FROM.
proc files {from to start stop kind sink options fresh request back draws} {
    set tcp [connection $from $to $kind $sink $options]
    set i $::flows
    set ::file($i) [dict create tcp $tcp stop $stop fresh $fresh back $back draws $draws request $request \
        next 0 begun -1]
    if {$request} {
        set asks [new Agent/Message]
        set asked [new Agent/Message]
        $asks set packetSize_ $request
        $::ns attach-agent $::node($to) $asks
        $::ns attach-agent $::node($from) $asked
        $::ns connect $asks $asked
        $asked proc recv {words} { eval begin_file $words }
        dict set ::file($i) asks $asks
    }
    $tcp proc done {} [list end_file $i]
    $::ns at $start [list next_file $i]
}

proc next_file {i} {
    set stop [dict get $::file($i) stop]
    if {$stop ne "-" && [$::ns now] >= $stop} return
    if {[dict get $::file($i) request]} { ask $i [dict get $::file($i) next] 1.0 } else { begin_file $i }
}

# Requests file number AT. If the file has not begun after WAIT seconds, requests it again; WAIT doubles each time.
proc ask {i at wait} {
    if {[dict get $::file($i) begun] >= $at} return
    [dict get $::file($i) asks] send "$i $at"
    $::ns at [expr {[$::ns now] + $wait}] [list ask $i $at [expr {min(60.0, 2 * $wait)}]]
}

# Starts the next file. Does nothing if this file has begun, or if ASKED is the number of another file.
proc begin_file {i {asked ""}} {
    set at [dict get $::file($i) next]
    if {$asked ne "" && $asked != $at} return
    set packets [lindex [dict get $::file($i) draws] $at]
    if {$packets eq "" || [dict get $::file($i) begun] >= $at} return
    dict set ::file($i) begun $at
    set tcp [dict get $::file($i) tcp]
    if {$at > 0 && [dict get $::file($i) fresh]} { $tcp reset; $::sink_of($tcp) reset }
    $tcp advanceby $packets
}

proc end_file {i} {
    set at [dict get $::file($i) next]
    set think [lindex [dict get $::file($i) draws] [expr {$at + 1}]]
    dict set ::file($i) next [expr {$at + 2}]
    set next next_file
    if {[dict get $::file($i) request]} {
        set rest [expr {$think - [dict get $::file($i) back]}]
        # The request was due before now: without a packet, the file begins when the request would have arrived.
        if {$rest < 0} { set next begin_file } else { set think $rest }
    }
    $::ns at [expr {[$::ns now] + $think}] [list $next $i]
}

# writes FROM TO KIND SINK OPTIONS TIMES: an application writes a packet at each time.
proc writes {from to kind sink options times} {
    set tcp [connection $from $to $kind $sink $options]
    at_each $times 1 [list write_one $tcp]
}
proc write_one {tcp time} { $tcp advanceby 1 }

# udp FROM TO PACKETS: datagrams; PACKETS has the time and the bytes of each.
proc udp {from to packets} {
    at_each $packets 2 [list send_one [datagrams $from $to]]
}
proc send_one {udp time bytes} { $udp send $bytes }

# cbr FROM TO START STOP EVERY BYTES
proc cbr {from to start stop every bytes} {
    set cbr [new Application/Traffic/CBR]
    set udp [datagrams $from $to]
    $udp set packetSize_ $bytes
    $cbr set packetSize_ $bytes
    $cbr set interval_ $every
    $cbr set random_ 0
    $cbr attach-agent $udp
    $::ns at $start "$cbr start"
    if {$stop ne "-"} { $::ns at $stop "$cbr stop" }
}

proc datagrams {from to} {
    set udp [new Agent/UDP]
    set null [new Agent/Null]
    $udp set packetSize_ 65535
    $udp set fid_ [incr ::flows]
    $::ns attach-agent $::node($from) $udp
    $::ns attach-agent $::node($to) $null
    $::ns connect $udp $null
    return $udp
}

# Takes STEP words of LIST at a time and runs COMMAND with them, at the time that is the first of the words. Only one
# event is pending at a time.
set lists 0
proc at_each {list step command} {
    set i [incr ::lists]
    set ::list($i) $list
    if {[llength $list]} { $::ns at [lindex $list 0] [list do_next $i 0 $step $command] }
}
proc do_next {i at step command} {
    eval $command [lrange $::list($i) $at [expr {$at + $step - 1}]]
    incr at $step
    if {$at < [llength $::list($i)]} { $::ns at [lindex $::list($i) $at] [list do_next $i $at $step $command] }
}

# --- Measurement ---------------------------------------------------------------------------------

# Counted in when a packet reaches the queue, out when its transmission begins.
proc counts {} {
    $::integrator newpoint [$::ns now] [$::monitor set pkts_]
    return [list [$::integrator set sum_] [$::monitor set parrivals_] [$::monitor set pdrops_] \
        [$::monitor set bdepartures_] [$::monitor set pmarks_]]
}

set samples 0
set sum 0.0
set squares 0.0
proc sample {} {
    set q [$::monitor set pkts_]
    incr ::samples
    set ::sum [expr {$::sum + $q}]
    set ::squares [expr {$::squares + $q * $q}]
    $::ns at [expr {[$::ns now] + 0.01}] sample
}

proc finish {} {
    foreach {time arrived dropped sent marked} [counts] {time0 arrived0 dropped0 sent0 marked0} $::before break
    set span [expr {$::duration - $::warmup}]
    set mean [expr {$::sum / $::samples}]
    set all [expr {double(max(1, $arrived - $arrived0))}]
    puts [format "%.6g %.6g %.6g %.6g %.6g" [expr {($time - $time0) / $span}] \
        [expr {sqrt(max(0.0, $::squares / $::samples - $mean * $mean))}] [expr {($dropped - $dropped0) / $all}] \
        [expr {($sent - $sent0) * 8.0 / ($::rate * $span)}] [expr {($marked - $marked0) / $all}]]
    exit 0
}

source [lindex $argv 0]
$ns at $warmup { set before [counts]; sample }
$ns at $duration finish
$ns run
