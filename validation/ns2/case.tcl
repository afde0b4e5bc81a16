# One run of a dumbbell with long-lived TCP flows through one managed queue, in
# ns-2 2.35.  Prints one line of comma-separated figures.
#
#   ns case.tcl -aqm RED -n 40 -seed 1
#   ns case.tcl -header 1                  (prints the names of the columns)
#
# The set-up is RAQM's case 1, 2 or 3 (-case), or a fast one for timing:
#
#   client 0 --\                               /-- server 0
#      ...      >-- router 1 ======= router 2 <      ...
#   client 4 --/        bottleneck             \-- server 4
#
# Every link runs at 10 Mb/s.  Data goes from the clients to the servers, so the
# managed queue is router 1's towards router 2.  The paper fixes the link rate,
# the packet and buffer sizes and the duration; README.md lists what it leaves
# open and what is chosen here.

# --- Parameters --------------------------------------------------------------

array set par {
    -case     1
    -aqm      DropTail
    -tcp      Newreno
    -n        40
    -seed     1
    -ecn      0
    -stop     200.0
    -warmup   20.0
    -sample   0.01
    -limit    100
    -target   50
    -mps      500
    -jitter   0
    -access   0
    -header   0
    -info     0
    -loop     0
    -include  ""
}
# -case     1, 2 or 3: client access delays 10 ms, 100 ms, or 10 to 200 ms;
#           fast: 1 Gb/s, 10 pairs, 1500 B, base round trip 44 ms; faster: 10 Gb/s
# -aqm      DropTail, RED, ARED, PI, REM or Vq; REM-bytes counts bytes, REM-1000 takes
#           1000 B for the mean packet, REM-bytes-1000 both
# -tcp      Newreno, Reno or Sack1
# -ecn      1: ECN-capable flows, and the queue marks instead of dropping
# -stop     end of the run [s]; 0.001 measures the set-up alone
# -warmup   what happens before this time is not counted [s]
# -sample   spacing of the queue samples the deviation is computed from [s];
#           0 takes none (for timing runs: sd_queue is then empty)
# -limit    limit_ of the managed queue [packets]
# -target   PI's and REM's wanted queue [packets]
# -mps      mean packet size told to the discipline [B]; REM needs it right
# -jitter   largest extra delay before a client begins to send a packet [s]; see
#           README.md on ties.  0 adds none: plain ns-2
# -access   rate of the clients' links [bit/s]; 0: that of the others
# -info     1: effective parameters and sample percentiles on stderr
# -loop     1: prints only the packets that the bottleneck sent, and the seconds
#           that the event loop took, on the clock on the wall and without set-up
# -include  a Tcl script sourced after the set-up, for one-off measurements

foreach {name value} $argv {
    if {![info exists par($name)]} {
        puts stderr "case.tcl: unknown option $name; known: [lsort [array names par]]"
        exit 2
    }
    set par($name) $value
}

if {$par(-header)} {
    puts "case,aqm,ecn,tcp,n,seed,mean_queue,sd_queue,utilisation,drop_ratio,mark_ratio,goodput,packets"
    exit 0
}

set rate         10e6          ;# of every link [bit/s]
set pairs        5             ;# clients, and as many servers
set header_bytes 40            ;# TCP and IP; ns-2 adds them to packetSize_
set packet_bytes 500           ;# of a data packet on the wire
switch -- $par(-case) {
    1 { set client_delays {0.010 0.010 0.010 0.010 0.010} }
    2 { set client_delays {0.100 0.100 0.100 0.100 0.100} }
    3 { set client_delays {0.010 0.050 0.100 0.150 0.200} }
    fast - faster { set client_delays [lrepeat 10 0.001] }
    default { puts stderr "case.tcl: -case must be 1, 2, 3, fast or faster"; exit 2 }
}
set bottleneck_delay 0.010
set server_delay     0.010
set spread           1.0       ;# flows start within it [s]
if {$par(-case) in {fast faster}} {
    set rate             [expr {$par(-case) eq "fast" ? 1e9 : 1e10}]
    set spread           [expr {$par(-case) eq "fast" ? 1.0 : 0.5}]
    set pairs            10
    set packet_bytes     1500
    set bottleneck_delay 0.020
    set server_delay     0.001
}

if {$par(-access) == 0} { set par(-access) $rate }

# --- Disciplines ---------------------------------------------------------------

# Class defaults are set before any queue exists, because ns-2 computes capacity
# in packets and RED's automatic weight at the moment a link is created.
# Everything is counted in packets, not bytes: that is the papers' unit, and it
# is RED's `bytes_' and `queue_in_bytes_' that ns-2 has on by default.
proc configure_aqm {aqm} {
    global par
    set words [split $aqm -]
    set mean_packet [expr {"1000" in $words ? 1000 : $par(-mps)}]
    switch -- [lindex $words 0] {
        DropTail {
            return DropTail
        }
        RED - ARED {
            Queue/RED set bytes_          false
            Queue/RED set queue_in_bytes_ false
            Queue/RED set mean_pktsize_   $par(-mps)
            Queue/RED set thresh_         25
            Queue/RED set maxthresh_      75
            Queue/RED set linterm_        10    ;# max_p = 1/linterm_
            Queue/RED set adaptive_       [expr {$aqm eq "ARED"}]
            Queue/RED set setbit_         $par(-ecn)
            return RED
        }
        PI {
            Queue/PI set bytes_           false
            Queue/PI set queue_in_bytes_  false
            Queue/PI set mean_pktsize_    $par(-mps)
            Queue/PI set qref_            $par(-target)
            Queue/PI set setbit_          $par(-ecn)
            return PI
        }
        REM {
            # At its default of 1000 B REM takes the link for half as fast as
            # it is, in packets, and settles 25 packets below its target.
            Queue/REM set qib_            [expr {"bytes" in $words}]
            Queue/REM set mean_pktsize_   $mean_packet
            Queue/REM set pbo_            $par(-target)
            Queue/REM set markpkts_       $par(-ecn)
            return REM
        }
        Vq {
            Queue/Vq set queue_in_bytes_  false
            Queue/Vq set mean_pktsize_    $par(-mps)
            Queue/Vq set markpkts_        $par(-ecn)
            return Vq
        }
        default {
            puts stderr "case.tcl: unknown -aqm $aqm"
            exit 2
        }
    }
}

# What the discipline really runs with, read back after ns-2 has filled in the
# automatic values (RED's q_weight_ -1, for one).
proc report_parameters {} {
    global par queue
    foreach class [list [$queue info class] Queue] {
        foreach name [lsort [$class info vars]] {
            if {![string match util_* $name] && ![catch {$queue set $name} value]} {
                lappend text $name=$value
            }
        }
    }
    puts stderr "$par(-aqm): [join $text { }]"
}

# --- Set-up ----------------------------------------------------------------------

# Unused packet headers cost time and memory.  Traffic other than TCP needs more
# of them: UDP without RTP corrupts packets silently.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]

# One stream for what happens inside the network (random drops, the phase of
# TCP's clock), another for the start times, which thus do not depend on the AQM.
ns-random $par(-seed)
set start_rng [new RNG]
$start_rng seed [expr {1000 + $par(-seed)}]

# A delayer holds each packet for a random time before the link may send it.  The
# order is kept, and while the link is busy with the packet before, the delay
# passes unnoticed: it shifts the start of a burst, it does not stretch the burst.
set jitter_rng [new RNG]
$jitter_rng seed [expr {2000 + $par(-seed)}]

proc add_jitter {from to} {
    global ns par jitter_rng
    set idle [new RandomVariable/Constant]
    $idle set val_ -1                      ;# after any idle time, however short
    set delay [new RandomVariable/Uniform]
    $delay use-rng $jitter_rng
    $delay set min_ 0
    $delay set max_ $par(-jitter)
    set delayer [new Delayer]
    $delayer alloc $idle $delay
    $ns insert-delayer $from $to $delayer
}

set aqm_class [configure_aqm $par(-aqm)]

# Only the managed queue may lose packets.
Queue set limit_ 10000

set router1 [$ns node]
set router2 [$ns node]
$ns simplex-link $router1 $router2 $rate $bottleneck_delay $aqm_class
$ns simplex-link $router2 $router1 $rate $bottleneck_delay DropTail
for {set i 0} {$i < $pairs} {incr i} {
    set client($i) [$ns node]
    set server($i) [$ns node]
    $ns duplex-link $client($i) $router1 $par(-access) [lindex $client_delays $i] DropTail
    $ns duplex-link $router2 $server($i) $rate $server_delay DropTail
    if {$par(-jitter) > 0} { add_jitter $client($i) $router1 }
}
$ns queue-limit $router1 $router2 $par(-limit)
set queue [[$ns link $router1 $router2] queue]

# The receiver's window never limits, and neither does the initial ssthresh,
# which ns-2 takes from window_.  The rest is ns-2's own default, set here all
# the same because the results depend on it.
Agent/TCP set window_     1000000
Agent/TCP set packetSize_ [expr {$packet_bytes - $header_bytes}]
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_     0.2
Agent/TCP set tcpTick_    0.01
Agent/TCP set ecn_        $par(-ecn)
# RFC 3168 has CWR on the first new packet after a reduction; ns-2's default is
# the first packet of any kind.
Agent/TCP set SetCWRonRetransmit_ false

# A plain sink acknowledges every packet at once.
set sink_class [expr {$par(-tcp) eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]

for {set i 0} {$i < $par(-n)} {incr i} {
    set host [expr {$i % $pairs}]
    set tcp($i)  [new Agent/TCP/$par(-tcp)]
    set sink($i) [new $sink_class]
    $tcp($i) set fid_ $i
    $ns attach-agent $client($host) $tcp($i)
    $ns attach-agent $server($host) $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$start_rng uniform 0.0 $spread] "$ftp start"
}

# --- Measurement -------------------------------------------------------------------

# The monitor counts a packet in when it reaches the queue and out when its
# transmission begins, so the packet on the wire is not part of the queue.  Its
# integrator adds up length x time at every change; it must be brought up to the
# present before its sum is read.
set monitor    [$ns monitor-queue $router1 $router2 "" 0]
set integrator [$monitor get-pkts-integrator]

# Everything cumulative at this moment.
proc snapshot {} {
    global ns par monitor integrator sink
    $integrator newpoint [$ns now] [$monitor set pkts_]
    set in_order 0
    for {set i 0} {$i < $par(-n)} {incr i} {
        # In-order bytes, headers included, each sequence number once.
        incr in_order [$sink($i) set bytes_]
    }
    return [list \
        queue_time [$integrator set sum_] \
        arrived    [$monitor set parrivals_] \
        dropped    [$monitor set pdrops_] \
        marked     [$monitor set pmarks_] \
        sent       [$monitor set pdepartures_] \
        sent_bytes [$monitor set bdepartures_] \
        in_order   $in_order]
}

# A histogram suffices for the deviation and the percentiles.
proc sample_queue {} {
    global ns par monitor histogram
    incr histogram([$monitor set pkts_])
    $ns at [expr {[$ns now] + $par(-sample)}] sample_queue
}

proc sample_mean_sd {} {
    global histogram
    set count 0
    set sum 0
    set squares 0
    foreach {length times} [array get histogram] {
        incr count $times
        incr sum [expr {$length * $times}]
        incr squares [expr {$length * $length * $times}]
    }
    set mean [expr {double($sum) / $count}]
    return [list $mean [expr {sqrt(max(0.0, double($squares) / $count - $mean * $mean))}] $count]
}

proc sample_percentile {fraction} {
    global histogram
    set wanted [expr {$fraction * [lindex [sample_mean_sd] 2]}]
    set seen 0
    foreach length [lsort -integer [array names histogram]] {
        incr seen $histogram($length)
        if {$seen >= $wanted} { return $length }
    }
}

proc finish {} {
    global par rate before histogram begun
    if {![info exists before]} { exit 0 }    ;# a set-up-only run
    set loop [expr {([clock microseconds] - $begun) * 1e-6}]

    array set a $before
    array set b [snapshot]
    if {$par(-loop)} { puts "$b(sent) $loop"; exit 0 }
    set span [expr {$par(-stop) - $par(-warmup)}]
    foreach name {queue_time arrived dropped marked sent_bytes in_order} {
        set d($name) [expr {$b($name) - $a($name)}]
    }

    set sd ""
    if {[array exists histogram]} {
        set sd [format %.3f [lindex [sample_mean_sd] 1]]
        if {$par(-info)} {
            puts stderr "samples: mean [lindex [sample_mean_sd] 0]\
                1 % [sample_percentile 0.01] 50 % [sample_percentile 0.5]\
                99 % [sample_percentile 0.99] largest [lindex [lsort -integer [array names histogram]] end]"
        }
    }

    puts [join [list \
        $par(-case) $par(-aqm) $par(-ecn) $par(-tcp) $par(-n) $par(-seed) \
        [format %.3f [expr {$d(queue_time) / $span}]] \
        $sd \
        [format %.5f [expr {8.0 * $d(sent_bytes) / ($rate * $span)}]] \
        [format %.6f [expr {double($d(dropped)) / $d(arrived)}]] \
        [format %.6f [expr {double($d(marked)) / $d(arrived)}]] \
        [format %.5f [expr {8.0 * $d(in_order) / ($rate * $span)}]] \
        $b(sent)] ,]
    exit 0
}

$ns at $par(-warmup) { set before [snapshot] }
if {$par(-sample) > 0} { $ns at $par(-warmup) sample_queue }
if {$par(-info)} { $ns at 0.0 report_parameters }
$ns at $par(-stop) finish

if {$par(-include) ne ""} { source $par(-include) }

set begun [clock microseconds]
$ns run
