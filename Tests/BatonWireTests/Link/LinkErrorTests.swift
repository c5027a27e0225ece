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

  @Test func `silence is another program's; what hangs up is no coordinator`() {
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
        == "what listens at 127.0.0.1:7420 did not prove that it knows the token, so it was sent nothing: it is another "
        + "coordinator, or another user's program in the coordinator's place. Check BATON_TOKEN_FILE, then who listens: "
        + "ss -ltnp 'sport = :7420'")
  }

  @Test func `where no token is found, both causes are told, and that a stranger may be listening`() {
    let causes =
      "there is no token for the coordinator at 127.0.0.1:7420: either that coordinator does not run, and its token is "
      + "withdrawn until it does (start it); or it is another user's (run this as that user, or set BATON_TOKEN_FILE to a "
      + "copy of its token, mode 0600). "
    let stranger = LinkError.noToken(Self.endpoint, Self.folders, isStrange: true)
    #expect(stranger.code == .notPermitted)
    #expect(
      stranger.description
        == causes + "Something listens at 127.0.0.1:7420, which may be another user's program: "
        + "ss -ltnp 'sport = :7420'. It was sent nothing. Looked for /none/baton/7420.token")
    let own = LinkError.noToken(Self.endpoint, Self.folders, isStrange: false)
    #expect(own.code == .notPermitted && own.description == causes + "Looked for /none/baton/7420.token")
  }
}
