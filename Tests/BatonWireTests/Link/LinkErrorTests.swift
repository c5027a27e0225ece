import GRPCCore
import Testing

@testable import BatonWire

/// The errors of a client that cannot trust the program at the coordinator's address.
@Suite struct LinkErrorTests {
  private static let endpoint = HostPort(host: "127.0.0.1", port: 7420)
  private static let folders = RuntimeFolders(paths: ["/none/baton"])

  @Test func `a coordinator without the proof is called too old, and nothing was sent to it`() {
    let error = LinkError(RPCError(code: .unimplemented, message: "no such service"), Self.endpoint)
    #expect(error.code == .notPermitted)
    #expect(
      error.description
        == "the coordinator at 127.0.0.1:7420 cannot prove that it knows the token, because it is older than this "
        + "program: update the coordinator")
  }

  @Test func `a program that does not answer, or that closes the connection, is not a coordinator`() {
    let silence = LinkError(RPCError(code: .deadlineExceeded, message: ""), Self.endpoint)
    #expect(silence.code == .unreachable && silence.description.contains("is it another program?"))
    let end = LinkError(RPCError(code: .unavailable, message: "reset"), Self.endpoint)
    #expect(end.code == .unreachable && end.description.contains("no coordinator answers at 127.0.0.1:7420"))
  }

  @Test(arguments: [
    RPCError.Code.internalError, .unknown, .invalidArgument, .dataLoss, .unauthenticated, .permissionDenied,
    .resourceExhausted, .cancelled,
  ])
  func `any other answer than the proof is that of a stranger`(code: RPCError.Code) {
    let error = LinkError(RPCError(code: code, message: "why"), Self.endpoint)
    #expect(error == .unproven(Self.endpoint) && error.code == .notPermitted)
    #expect(
      error.description
        == "the program that listens at 127.0.0.1:7420 did not prove that it knows the token, so nothing was sent to "
        + "it. It is another coordinator, or a program of another user. Check BATON_TOKEN_FILE, then which program "
        + "listens: ss -ltnp 'sport = :7420'")
  }

  @Test func `where no token is found, both causes are told, and that a stranger may be listening`() {
    let causes =
      "there is no token for the coordinator at 127.0.0.1:7420: either the coordinator does not run (start it, and it "
      + "publishes its token again), or it belongs to another user (run this command as that user, or set "
      + "BATON_TOKEN_FILE to a copy of its token, mode 0600). "
    let stranger = LinkError.noToken(Self.endpoint, Self.folders, isStrange: true)
    #expect(stranger.code == .notPermitted)
    #expect(
      stranger.description
        == causes + "A program listens at 127.0.0.1:7420, which may belong to another user: "
        + "ss -ltnp 'sport = :7420'. Nothing was sent to it. Looked for /none/baton/7420.token")
    let own = LinkError.noToken(Self.endpoint, Self.folders, isStrange: false)
    #expect(own.code == .notPermitted && own.description == causes + "Looked for /none/baton/7420.token")
  }
}
