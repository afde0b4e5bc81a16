# RED with ECN on the network of papers/msvb, in ns-2.35: what CWR on retransmissions does. One line of figures.
#   ns red-ecn.tcl N SEED GENTLE CWR     such as: 300 1 1 0
# N NewReno flows; GENTLE is gentle_ of RED, CWR is SetCWRonRetransmit_ of TCP, which ns-2 has on. 20 to 120 s are counted.
proc arg {i d} { global argv; if {[llength $argv]>$i} {return [lindex $argv $i]}; return $d }
set n [arg 0 50]; set seed [arg 1 1]; set gentle [arg 2 1]; set cwr [arg 3 0]
remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $seed
set ns [new Simulator]
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1000
Queue/RED set thresh_ 20
Queue/RED set maxthresh_ 40
Queue/RED set linterm_ 10
Queue/RED set q_weight_ 0.002
Queue/RED set gentle_ $gentle
Queue/RED set use_mark_p_ false
Queue/RED set setbit_ true
Queue set limit_ 10000
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set SetCWRonRetransmit_ $cwr
set a [$ns node]; set b [$ns node]
$ns simplex-link $a $b 10Mb 20ms RED
$ns simplex-link $b $a 10Mb 20ms DropTail
$ns queue-limit $a $b 100
set jitter [new RNG]; $jitter seed [expr 2000+$seed]
for {set i 0} {$i<10} {incr i} {
  set l($i) [$ns node]; set r($i) [$ns node]
  $ns duplex-link $l($i) $a 100Mb 20ms DropTail
  $ns duplex-link $b $r($i) 100Mb 20ms DropTail
  set idle [new RandomVariable/Constant]; $idle set val_ -1
  set wait [new RandomVariable/Uniform]; $wait use-rng $jitter; $wait set min_ 0; $wait set max_ 10e-6
  set delayer [new Delayer]; $delayer alloc $idle $wait; $ns insert-delayer $l($i) $a $delayer
}
set start [new RNG]; $start seed [expr 1000+$seed]
for {set i 0} {$i<$n} {incr i} {
  set t [new Agent/TCP/Newreno]; set s [new Agent/TCPSink]; $t set ecn_ 1
  $ns attach-agent $l([expr $i%10]) $t; $ns attach-agent $r([expr $i%10]) $s; $ns connect $t $s
  set f [new Application/FTP]; $f attach-agent $t; $ns at [$start uniform 0 1] "$f start"
}
set m [$ns monitor-queue $a $b ""]
set sum 0.0; set squares 0.0; set count 0
proc sample {} { global ns m sum squares count
  set x [$m set pkts_]; set sum [expr $sum+$x]; set squares [expr $squares+$x*$x]; incr count
  $ns at [expr [$ns now]+0.01] sample }
proc begin {} { global m bytes arrived dropped
  set bytes [$m set bdepartures_]; set arrived [$m set parrivals_]; set dropped [$m set pdrops_]; sample }
proc end {} { global m sum squares count bytes arrived dropped n seed gentle cwr
  set mean [expr $sum/$count]
  puts [format "n=%d seed=%d gentle=%d cwr=%d queue=%.2f sd=%.2f utilisation=%.4f drops=%d arrivals=%d" $n $seed $gentle $cwr $mean \
    [expr sqrt($squares/$count-$mean*$mean)] [expr ([$m set bdepartures_]-$bytes)*8/10e6/100.0] \
    [expr [$m set pdrops_]-$dropped] [expr [$m set parrivals_]-$arrived]]
  exit 0 }
$ns at 20 "begin"
$ns at 120 "end"
$ns run
