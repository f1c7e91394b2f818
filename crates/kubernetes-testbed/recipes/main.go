// The four programs of a Kubernetes cluster as one, which is linked once. The name by which it is called selects one.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	rand.Seed(time.Now().UnixNano())
	var command *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = manager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubelet":
		command = kubelet.NewKubeletCommand()
	default:
		fmt.Fprintf(os.Stderr, "%s is no program of a cluster\n", name)
		os.Exit(2)
	}
	pflag.CommandLine.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	logs.InitLogs()
	defer logs.FlushLogs()
	if command.Execute() != nil {
		os.Exit(1)
	}
}
