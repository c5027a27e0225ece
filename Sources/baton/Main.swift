import BatonBase
import BatonCommands
import BatonProcess
import BatonWorker

/// The `baton` binary: assembles the real environment and runs the command.
@main
enum Main {
  static func main() async {
    let environment = CommandEnvironment.live()
    // This has to come before the token is read.
    ProcessPrivacy.hide(environment: environment.variables)
    exit(await BatonCommand.execute(Array(CommandLine.arguments.dropFirst()), in: environment))
  }
}
