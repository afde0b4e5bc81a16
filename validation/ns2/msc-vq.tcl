# Experiment 4 of papers/msc (exp-4.toml) under Vq, in ns-2.35: one line of figures.
#   ns msc-vq.tcl N SEED ECN [BYTES [MEAN_PACKET]]     such as: 150 1 1
# N forward flows (ECN-capable with ECN 1), 5 reverse flows with a window of 20 and without ECN. The buffer is 20 packets;
# with BYTES 1 (the default) Vq takes it for 20 x MEAN_PACKET (500) bytes, virtual and real.
proc arg {i d} { global argv; if {[llength $argv]>$i} {return [lindex $argv $i]}; return $d }
set n [arg 0 150]; set seed [arg 1 1]; set ecn [arg 2 0]; set bytes [arg 3 1]; set mean [arg 4 500]
remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $seed
set ns [new Simulator]
Queue/Vq set queue_in_bytes_ $bytes
Queue/Vq set mean_pktsize_ $mean
Queue/Vq set markpkts_ $ecn
Queue set limit_ 10000
Agent/TCP set packetSize_ 460
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set SetCWRonRetransmit_ false
set a [$ns node]; set b [$ns node]
$ns simplex-link $a $b 15Mb 20ms Vq
$ns simplex-link $b $a 15Mb 20ms DropTail
$ns queue-limit $a $b 20
$ns queue-limit $b $a 400
set i 0
foreach d {1 60 6 200 20 2 110 10 35 3} {
  set l($i) [$ns node]; set r($i) [$ns node]
  $ns duplex-link $l($i) $a 100Mb ${d}ms DropTail
  $ns duplex-link $b $r($i) 100Mb 1ms DropTail
  incr i
}
set jitter [new RNG]; $jitter seed [expr 2000+$seed]
for {set j 0} {$j<10} {incr j} {
  set idle [new RandomVariable/Constant]; $idle set val_ -1
  set wait [new RandomVariable/Uniform]; $wait use-rng $jitter; $wait set min_ 0; $wait set max_ 10e-6
  set delayer [new Delayer]; $delayer alloc $idle $wait; $ns insert-delayer $l($j) $a $delayer
}
set rng [new RNG]; $rng seed [expr 1000+$seed]
proc flow {from to window ecn} { global ns rng
  set t [new Agent/TCP/Newreno]; set s [new Agent/TCPSink]
  $t set window_ $window; $t set ecn_ $ecn
  $ns attach-agent $from $t; $ns attach-agent $to $s; $ns connect $t $s
  set f [new Application/FTP]; $f attach-agent $t; $ns at [$rng uniform 0 1] "$f start"
}
for {set i 0} {$i<$n} {incr i} { flow $l([expr $i%10]) $r([expr $i%10]) 1000000 $ecn }
for {set i 0} {$i<5} {incr i} { flow $r([expr $i%10]) $l([expr $i%10]) 20 0 }
set m [$ns monitor-queue $a $b ""]
set integral [$m get-pkts-integrator]
proc snap {} { global m integral i0 b0 p0 d0 ns
  $integral newpoint [$ns now] [$m set pkts_]
  set i0 [$integral set sum_]; set b0 [$m set bdepartures_]; set p0 [$m set parrivals_]; set d0 [$m set pdrops_] }
proc done {} { global m integral i0 b0 p0 d0 ns n seed ecn
  $integral newpoint [$ns now] [$m set pkts_]
  puts [format "n=%d seed=%d ecn=%d queue=%.2f utilisation=%.4f loss=%.4f" $n $seed $ecn \
    [expr ([$integral set sum_]-$i0)/80.0] [expr ([$m set bdepartures_]-$b0)*8/15e6/80.0] \
    [expr double([$m set pdrops_]-$d0)/([$m set parrivals_]-$p0)]]
  exit 0 }
$ns at 20 "snap"
$ns at 100 "done"
$ns run
