import BatonWire
import GRPCCore
import Testing

/// What a client says when it asked for the proof and got an error.
@Suite struct LinkErrorTests {
  private static let endpoint = HostPort(host: "127.0.0.1", port: 7420)

  @Test func `a coordinator without the proof is called too old, and nothing was sent to it`() {
    let error = LinkError(RPCError(code: .unimplemented, message: "no such service"), Self.endpoint)
    #expect(error.code == .notPermitted)
    #expect(
      error.description
        == "the coordinator at 127.0.0.1:7420 cannot prove that it knows the token, because it is older than this "
        + "program: update the coordinator")
  }

  @Test func `silence, and any other answer, mean that no coordinator is there`() {
    let silence = LinkError(RPCError(code: .deadlineExceeded, message: ""), Self.endpoint)
    #expect(silence.code == .unreachable && silence.description.contains("is it another program?"))
    for code in [RPCError.Code.unavailable, .internalError, .unknown] {
      let error = LinkError(RPCError(code: code, message: "why"), Self.endpoint)
      #expect(error.code == .unreachable && error.description.contains("no coordinator answers at 127.0.0.1:7420"))
    }
  }
}
