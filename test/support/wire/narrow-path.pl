# A way to a port of this machine that takes little at a time: perl NARROW-PATH.pl PORT READ_BYTES PAUSE_MS LIMIT_BYTES
#
# Node sets neither a segment size nor a receive buffer. Without them the kernel takes megabytes of an answer that nobody
# reads, and whoever sent it never notices. Prints the port it listens at; ends with its standard input.
use strict;
use warnings;
use Socket;

my ( $port, $read_bytes, $pause_ms, $limit_bytes ) = @ARGV;
my ( $TCP, $TCP_MAXSEG ) = ( 6, 2 );
$SIG{CHLD} = 'IGNORE';
$SIG{PIPE} = 'IGNORE';

sub readable {
    my $bits = '';
    vec( $bits, fileno($_), 1 ) = 1 for @_;
    select( $bits, undef, undef, undef );
    return map { vec( $bits, fileno($_), 1 ) } @_;
}

sub relay {
    my ($client) = @_;
    socket( my $server, PF_INET, SOCK_STREAM, 0 ) or die "socket: $!";
    setsockopt( $server, $TCP, $TCP_MAXSEG, pack( 'l', 536 ) )  or die "segment: $!";
    setsockopt( $server, SOL_SOCKET, SO_RCVBUF, pack( 'l', 2048 ) )    or die "buffer: $!";
    connect( $server, sockaddr_in( $port, INADDR_LOOPBACK ) )          or die "connect: $!";
    my $taken = 0;
    while (1) {
        my $is_open = $limit_bytes == 0 || $taken < $limit_bytes;
        my ( $asks, $answers ) = readable( $client, $is_open ? $server : () );
        if ($asks) {
            sysread( $client, my $bytes, 65536 ) or return;
            syswrite( $server, $bytes )          or return;
        }
        if ($answers) {
            select( undef, undef, undef, $pause_ms / 1000 );
            $taken += sysread( $server, my $bytes, $read_bytes ) || return;
            syswrite( $client, $bytes ) or return;
        }
    }
}

socket( my $listener, PF_INET, SOCK_STREAM, 0 )         or die "socket: $!";
bind( $listener, sockaddr_in( 0, INADDR_LOOPBACK ) )    or die "bind: $!";
listen( $listener, SOMAXCONN )                          or die "listen: $!";
$| = 1;
print( ( sockaddr_in( getsockname($listener) ) )[0], "\n" );

while (1) {
    my ( $comes, $ends ) = readable( $listener, \*STDIN );
    exit 0 if $ends;
    accept( my $client, $listener ) or next;
    if ( fork() == 0 ) {
        relay($client);
        exit 0;
    }
    close $client;
}
