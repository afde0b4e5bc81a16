# RED+Tail's Table I in ns-2.35: one file at a time over 3 Mb/s, round trip 128 ms, losses both ways.
#   ns tail-files.tcl SIZE LOSS SEED [LIMITED_TRANSMIT [AGENT [FILES]]]   such as: 150000 0.08 100
# Prints mean and standard deviation of the delivery time in s. The sender opens; the printed table has 0.06 s more, half a
# round trip for the request. Limited transmit, the SYN and the agent are ns-2's defaults (ns-default.tcl: since 2001).
proc arg {i d} { global argv; if {[llength $argv]>$i} {return [lindex $argv $i]}; return $d }
set size [arg 0 30000]; set loss [arg 1 0.08]; set seed [arg 2 1]; set kind [arg 4 "Agent/TCP"]; set files [arg 5 1000]
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 64
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set singledup_ [arg 3 1]
set ns [new Simulator]
set a [$ns node]; set b [$ns node]; set c [$ns node]; set d [$ns node]
$ns duplex-link $a $b 100Mb 60ms DropTail
$ns duplex-link $b $c 3Mb 2ms DropTail
$ns duplex-link $c $d 100Mb 2ms DropTail
foreach {x y} [list $a $b $b $c $c $d] { $ns queue-limit $x $y 10000; $ns queue-limit $y $x 10000 }
foreach {x y stream} [list $b $c 7 $c $b 14] {
  set rng [new RNG]; $rng seed [expr $seed+$stream]
  set u [new RandomVariable/Uniform]; $u use-rng $rng
  set losses [new ErrorModel]; $losses unit pkt; $losses set rate_ $loss; $losses ranvar $u
  $losses drop-target [new Agent/Null]
  $ns lossmodel $losses $x $y
}
set done 0; set sum 0.0; set squares 0.0
proc begin {} {
  global ns a d kind size start
  set start [$ns now]
  set s [new $kind]; set r [new Agent/TCPSink]
  $ns attach-agent $a $s; $ns attach-agent $d $r; $ns connect $s $r
  $s proc done {} "finish $s $r"
  set f [new Application/FTP]; $f attach-agent $s; $f produce [expr $size/1000]
}
proc finish {s r} {
  global ns a d files start done sum squares
  set t [expr [$ns now]-$start]; set sum [expr $sum+$t]; set squares [expr $squares+$t*$t]; incr done
  $ns detach-agent $a $s; $ns detach-agent $d $r
  if {$done<$files} { $ns at [expr [$ns now]+80] begin; return }
  set m [expr $sum/$done]
  puts [format "%.3f (%.2f)" $m [expr sqrt(max(0, $squares/$done-$m*$m))]]; exit 0
}
$ns at 0.01 begin
$ns run
